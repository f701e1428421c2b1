# COUNT small files created, listed, renamed, read, removed.
mkdir $M/small
took create-rename "$WORK" small-create $M/small $COUNT
fresh $M
took list-read "$WORK" small-check $M/small $COUNT
took ls-l eval "[ \$(ls -lR $M/small | grep -c '^-') = $COUNT ]"
took remove "$WORK" small-remove $M/small $COUNT
