// The error for a wrong command line. Its own file because the parsers of values throw it and the runner maps it.
import { InvalidArgumentError } from 'commander';

/**
 * Thrown where an argument cannot be meant as written; nothing has been sent. For the value of an option commander
 * catches it and puts the option's name before the message.
 */
export class UsageError extends InvalidArgumentError {}
