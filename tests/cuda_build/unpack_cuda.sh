#!/bin/sh
# unpack_cuda.sh 12.0|12.2 FOLDER: a toolkit of CUDA older than this machine's, unpacked from Ubuntu's packages (0.8 GB)
# and installed nowhere. FOLDER/bin/nvcc is for -DPRECAST_OLDER_NVCC=, whose tests compile users' files.
set -e
[ $# -eq 2 ] || { sed -n 2,3p "$0" >&2; exit 2; }
case $1 in
  12.0) release=noble ;;
  12.2) release=plucky ;;
  *) echo "unpack_cuda.sh: no release of Ubuntu is known to have CUDA $1: 12.0 or 12.2" >&2; exit 2 ;;
esac
mkdir -p "$2"
folder=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mirror=http://archive.ubuntu.com/ubuntu
for section in multiverse universe; do
  curl -sf "$mirror/dists/$release/$section/binary-amd64/Packages.xz" | xz -d >"$work/$section"
done
for package in nvidia-cuda-toolkit nvidia-cuda-dev libcu++-dev libcub-dev libthrust-dev; do
  file=$(awk -v line="Package: $package" '$0 == line {found = 1} found && /^Filename/ {print $2; exit}' "$work/multiverse" "$work/universe")
  echo "$package: $file"
  curl -sf -o "$work/package.deb" "$mirror/$file"
  dpkg-deb --fsys-tarfile "$work/package.deb" | tar -x -C "$work" --exclude='*.a' --exclude='./usr/share'
done
tools=$work/usr/lib/nvidia-cuda-toolkit
mkdir -p "$folder/nvvm/bin"
cp -r "$tools/bin" "$work/usr/include" "$folder"
rm -f "$folder/bin/gcc" "$folder/bin/g++" "$folder/bin/nvcc.profile"  # links to the compilers that Ubuntu chose
for tool in ptxas nvlink fatbinary cudafe++ bin2c cuobjdump nvdisasm; do cp "$work/usr/bin/$tool" "$folder/bin/$tool"; done
cp "$folder/bin/cicc" "$folder/nvvm/bin"
cp -r "$tools/libdevice" "$folder/nvvm"
cat >"$folder/bin/nvcc.profile" <<'PROFILE'
TOP = $(_HERE_)/..
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
PROFILE
"$folder/bin/nvcc" --version | tail -2
