# Sets `python` to a Python that has numpy, or ends the test as skipped (77).
for python in python3 /usr/bin/python3 none; do
  "$python" -c 'import numpy' 2>/dev/null && break
done
if [ "$python" = none ]; then
  echo "skipped: no python3 with numpy (on Debian: apt-get install python3-numpy)"
  exit 77
fi
