[ "${PLACE:-outside}" != same ] || took stop do_stop
