# Unaligned reads and writes of every length from 1 to 9,000 at odd offsets.
took write "$WORK" lengths $M 9000
fresh $M
took read "$WORK" lengths-check $M 9000
