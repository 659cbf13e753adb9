// What `prices` and `quote` say of names that the price book does not have: which was most likely meant, and what helps.
import { beforeEach, describe, expect, it } from 'vitest';
import { GPT, good, run, usePriceServers } from './price-cli.ts';

usePriceServers();

describe('what is not in the book', () => {
  beforeEach(async () => {
    await good(...GPT);
    await good('prices', 'alias', 'azure/chat', 'openai/gpt-4o');
  });

  it.each([
    [['prices', 'openai/claude'], 'no price for openai/claude (see --all'],
    [['prices', 'list', 'openia'], 'provider/model (did you mean openai?) (see --all'],
    [['prices', 'gpt-4o'], 'no price for gpt-4o: a model is written with its provider, openai/gpt-4o\n'],
    [['prices', 'gpt-4o', '--at', '2001-01-01'], 'with its provider, openai/gpt-4o\n'],
    [['prices', 'chat'], 'no price for chat: a model is written with its provider, azure/chat\n'],
    [
      ['prices', 'gtp-4o'],
      'it is no provider of the book, and a model is written as provider/model (did you mean gpt-4o?)',
    ],
    [['prices', 'mistral'], 'and a model is written as provider/model (see --all'],
    [['prices', 'openia/gpt-4o'], 'no price for openia/gpt-4o (did you mean openai/gpt-4o?) (see --all'],
    [['prices', 'openai/gpt-4o', '--at', '2001-01-01'], 'no price for openai/gpt-4o (see --all'],
    [['prices', 'openai/claude', '--all'], 'no price for openai/claude (add one'],
    [['prices', 'openai/gpt-9', '--json'], 'no price for openai/gpt-9'],
    [['prices', 'aliases', 'azur'], 'of provider azur (did you mean azure?)'],
    [['prices', 'catalogue', 'azur'], 'of provider azur (did you mean azure?)'],
    [['prices', 'alias', 'azure/other', 'openai/gpt-9'], 'model: has no rows in the book'],
    [['prices', 'retire', 'ghost'], 'no row begins with ghost'],
    [['prices', 'retire', 'g'.repeat(43)], 'row: is of no row in the book'],
    [['quote', '--model', 'openai/gpt-9', '--bytes', '1'], 'openai/gpt-9 (no_row)'],
    [['quote', '--model', 'openia/gpt-4o', '--bytes', '1'], 'costs (did you mean openai/gpt-4o?): add its price'],
    [['quote', '--model', 'azure/cat', '--bytes', '1'], 'costs (did you mean azure/chat?): add its price'],
    [
      ['quote', '--model', 'openai/gpt-4o', '--bytes', '1', '--unit', 'usd'],
      'differs from usd by case alone: --unit USD',
    ],
    [['quote', '--model', 'openai/gpt-4o', '--bytes', '1', '--unit', 'INR'], 'what INR is worth'],
  ])('ends %j with 5', async (words, text) => {
    const { exitCode, stdout, stderr } = await run(...words);
    expect({ exitCode, stdout }).toEqual({ exitCode: 5, stdout: '' });
    expect(stderr).toContain(text);
  });

  it('is the row of the model that an alias stands for', async () => {
    await good('prices', 'add', 'openai/half', '--input', '1', '--source', 'x');
    await good('prices', 'alias', 'acmecorp/chat', 'openai/half');
    const { stderr } = await run('quote', '--model', 'acmecorp/chat', '--bytes', '1');
    expect(stderr).toContain('The row of openai/half has no rate for output');
    expect(stderr).toContain('budgetctl prices list openai/half');
  });

  it('names each provider that has the model', async () => {
    await good('prices', 'add', 'azure/gpt-4o', '--free', '--source', 's');
    await good('prices', 'add', 'local/llama/8b', '--free', '--source', 's');
    expect((await run('prices', 'gpt-4o')).stderr).toContain('its provider, azure/gpt-4o or openai/gpt-4o\n');
    expect((await run('prices', 'llama/8b')).stderr).toContain('its provider, local/llama/8b\n');
  });

  it.each([
    [['prices', 'units'], 'No units'],
    [['prices', 'aliases', 'openai'], 'No other names.'],
    [['prices', 'catalogue', 'openai'], 'rows'],
    [['prices', 'catalogue', 'azure'], 'rows'],
  ])('is no error of %j, which has nothing to list', async (words, text) => {
    expect(await good(...words)).toContain(text);
  });

  it('is not what a quote lacks where the row has no rate for it', async () => {
    await good('prices', 'add', 'local/deaf', '--input', '1', '--source', 's');
    const { exitCode, stderr } = await run('quote', '--model', 'local/deaf', '--bytes', '1', '--max-output', '1');
    expect(stderr).toContain('no_output_rate');
    expect(exitCode).toBe(4);
  });

  it('is told with what the price book finds wrong beside it', async () => {
    const { exitCode, stderr } = await run('prices', 'alias', 'Azure/x', 'openai/gpt-9');
    expect(stderr).toContain('provider of the name: ');
    expect(exitCode).toBe(2);
  });
});
