# A database in the mount: transactions with a rollback journal, then with others at the same time, checked at the end.
db=$M/data.db
took fill sqlite3 $db "create table t(id integer primary key, text, n); create index i on t(n);
  with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
  insert into t select x, hex(randomblob(40)), x * 7919 % 20011 from c;"
add() { for i in $(seq 20); do sqlite3 -cmd '.timeout 60000' $db "begin immediate; insert into t(text, n) select text, n + 1 from t where id % 97 = $i; commit;"; done; }
took transactions add
before=$(sqlite3 $db 'select count(*), sum(n), sum(length(text)) from t')
took update sqlite3 $db "update t set text = upper(text) || n where n % 3 = 0; update t set text = substr(text, 1, 80); delete from t where id % 5 = 0; vacuum;"
[ "$(sqlite3 $db 'pragma integrity_check')" = ok ]
after=$(sqlite3 $db 'select count(*), sum(n), sum(length(text)), sum(unicode(text)) from t')
fresh $M
took check [ "$(sqlite3 $db 'pragma integrity_check')" = ok ]
[ "$(sqlite3 $db 'select count(*), sum(n), sum(length(text)), sum(unicode(text)) from t')" = "$after" ]
[ "$before" != "$after" ]
