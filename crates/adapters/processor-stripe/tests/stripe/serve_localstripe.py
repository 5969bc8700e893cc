"""Serves localstripe on a free port of loopback, which it prints, until its standard input ends. Nothing is written to disk."""

import os
import socket
import sys
import threading

from aiohttp import web
from localstripe import resources, server


def end_with_the_test():
    sys.stdin.read()
    os._exit(0)


# Else it writes every card number that it is given to a file that all users share.
resources.Store.dump_to_disk = lambda store: None
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
threading.Thread(target=end_with_the_test, daemon=True).start()
web.run_app(server.app, sock=listener, print=None, access_log=None)
