# Version control in the mount: many small files, renames over lock files, read-only objects, mmap of packs.
export GIT_CONFIG_GLOBAL=/tmp/gitconfig
git config --global safe.directory '*' # the files may belong to another than root
git config --global user.email nobody@example.org
git config --global user.name Nobody
git config --global core.fsync all
took copy cp -r --preserve=mode,links $SOURCES $M
cd $M
took init git init -q -b main
took add git add .
took commit git commit -qm first
took edit sed -i 's/package/package /' os/*.go
git mv encoding coding
took commit git commit -qam second
cd /
fresh $M
cd $M
took fsck git fsck --full --strict --no-progress
[ -z "$(git status --porcelain)" ]
took repack git gc -q
took clone git clone -q --no-local . $M/clone
cd /
fresh $M
cd $M
took fsck git -C clone fsck --full --strict --no-progress
[ -z "$(git -C clone status --porcelain)" ]
[ "$(git rev-parse HEAD)" = "$(git -C clone rev-parse HEAD)" ]
took compare diff -r --no-dereference --exclude=.git --exclude=clone . clone
