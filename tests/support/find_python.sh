# Sets `python` to a Python that has `modules` (numpy, if it is not set), or ends the test as skipped (77).
: "${modules:=numpy}"
for python in python3 /usr/bin/python3 none; do
  "$python" -c "import $modules" 2>/dev/null && break
done
if [ "$python" = none ]; then
  echo "skipped: no python3 with $modules (pip install them in a venv whose bin is first in PATH; numpy on Debian: apt-get install python3-numpy)"
  exit 77
fi
