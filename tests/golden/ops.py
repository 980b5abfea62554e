def write(path): pass
