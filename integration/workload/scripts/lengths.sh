# Unaligned reads and writes of every length from 1 to LENGTHS at odd offsets.
took write "$WORK" lengths $M $LENGTHS
fresh $M
took read "$WORK" lengths-check $M $LENGTHS
