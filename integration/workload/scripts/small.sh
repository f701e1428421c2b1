# 5,000 small files created, listed, renamed, read, removed.
mkdir $M/small
took create-rename "$WORK" small-create $M/small 5000
fresh $M
took list-read "$WORK" small-check $M/small 5000
took ls-l eval "[ \$(ls -lR $M/small | grep -c '^-') = 5000 ]"
took remove "$WORK" small-remove $M/small 5000
