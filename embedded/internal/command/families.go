package command

var (
	listCommands, hashCommands, setCommands, zsetCommands, zrangeCommands []Command
)
