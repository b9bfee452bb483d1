"""The commands of `txnlog`, a module each. A new one is added in one place: `COMMANDS` of `txnlog.commands.parser`."""
