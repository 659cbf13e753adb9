// Names that begin with a dash are operands wherever they stand, what looks like an option is one, and no value is lost.
import { Command } from 'commander';
import { expect, it } from 'vitest';
import { dashedWords } from '../../../src/app/cli/dashed-words.ts';

interface Parsed {
  readonly command: string;
  readonly operands: readonly unknown[];
  readonly options: object;
}

async function parse(words: readonly string[]): Promise<Parsed | string> {
  let parsed: Parsed | string = 'nothing';
  const program = new Command('ctl').version('1').option('--json').option('--server <at>').exitOverride();
  program.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  const add = (to: Command, command: string) => {
    const made = to.command(command).option('--from <time>').option('-f, --file <file>').option('-y, --yes');
    made.action((...given: unknown[]) => {
      parsed = {
        command: made.name(),
        operands: given.slice(0, -2).filter((each) => each !== undefined),
        options: made.optsWithGlobals(),
      };
    });
  };
  add(program, 'get <name>');
  add(program, 'extend <id> [add...]');
  add(program, 'plan');
  add(program.command('prices'), 'retire <row>');
  try {
    await program.parseAsync(dashedWords(program, words), { from: 'user' });
  } catch (error) {
    return (error as { readonly code: string }).code;
  }
  return parsed;
}

it.each([
  [['get', '-abc'], ['-abc'], {}],
  [['get', '-Vabc', '--json'], ['-Vabc'], { json: true }],
  [['get', '-habc'], ['-habc'], {}],
  [['--json', 'get', '--A_b3', '--from', 'x'], ['--A_b3'], { json: true, from: 'x' }],
  [['get', '-a/b', '--from', '-Vx'], ['-a/b'], { from: '-Vx' }],
  [['get', 'a', '--from', '-Vx', '--server=-h'], ['a'], { from: '-Vx', server: '-h' }],
  [['get', '--', '--odd'], ['--odd'], {}],
  [['get', '--json', '--', '-V'], ['-V'], { json: true }],
  [['extend', '-t:06fk2x', '0.10', 'USD', '--yes'], ['-t:06fk2x', ['0.10', 'USD']], { yes: true }],
  [['extend', '-t:06fk2x', '--yes', '--', '0.10'], ['-t:06fk2x', ['0.10']], { yes: true }],
  [['extend', 'a', '-0.25'], ['a', ['-0.25']], {}],
  [['prices', 'retire', '-abc', '--from', '2027-01-01'], ['-abc'], { from: '2027-01-01' }],
  [['--server', 'x', 'prices', 'retire', '--_Vabc'], ['--_Vabc'], { server: 'x' }],
  [['get', '-fbudgets.yaml', 'a'], ['a'], { file: 'budgets.yaml' }],
  [['plan', '-fy', '--yes'], [], { file: 'y', yes: true }],
])('%j', async (words, operands, options) => {
  expect(await parse(words)).toMatchObject({ operands, options });
});

it.each([
  [['get', '--frm', 'x'], 'commander.unknownOption'],
  [['get', '--frm=X', 'x'], 'commander.unknownOption'],
  [['get', '-x'], 'commander.unknownOption'],
  [['plan', '-abc'], 'commander.unknownOption'],
  [['plan', '--file'], 'commander.optionMissingArgument'],
  [['prices', '-abc'], 'commander.unknownOption'],
  [['-V'], 'commander.version'],
  [['get', 'a', '--help'], 'commander.helpDisplayed'],
  [['help', 'get'], 'commander.help'],
  [['get'], 'commander.missingArgument'],
])('%j is told as it is', async (words, code) => {
  expect(await parse(words)).toBe(code);
});

it('leaves a line without such names as it is', () => {
  const program = new Command('ctl');
  program.command('get <name>').option('--from <time>');
  const words = ['get', 'a', '--from', 'x', 'b', '--', '-c'];
  expect(dashedWords(program, words)).toEqual(words);
});
