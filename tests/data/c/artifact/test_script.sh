make -s check
