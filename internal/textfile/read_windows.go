package textfile

const noWait = 0
