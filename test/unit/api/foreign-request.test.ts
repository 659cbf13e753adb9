import { describe, expect, it } from 'vitest';
import { foreignRequest } from '../../../src/api/connect/foreign-request.ts';

describe('a request is answered without tokens', () => {
  it.each([
    { host: 'localhost' },
    { host: 'localhost:8080' },
    { host: 'LOCALHOST:8080' },
    { host: 'console.localhost:8080' },
    { host: '127.0.0.1:8080' },
    { host: '127.9.9.9' },
    { host: '[::1]:8080' },
    { ':authority': 'localhost:8080' },
    {},
    { host: 'localhost', origin: 'http://localhost:5173' },
    { host: 'localhost', origin: 'https://127.0.0.1' },
    { host: 'localhost', origin: 'http://[::1]:8080' },
  ])('with %o', (headers) => {
    expect(foreignRequest(headers)).toBeUndefined();
  });
});

describe('a request is refused without tokens', () => {
  it.each([
    { host: 'rebound.example:8080' },
    { host: 'localhost.example' },
    { host: 'notlocalhost' },
    { host: '127.0.0.1.example' },
    { host: '10.0.0.1:8080' },
    { host: '[::2]' },
    { host: '0.0.0.0:8080' },
    { host: 'not a host' },
    { host: 'user@rebound.example' },
    { host: 'localhost@rebound.example' },
    { ':authority': 'rebound.example' },
    { ':authority': 'rebound.example', host: 'localhost' },
    { host: 'localhost', origin: 'https://site.example' },
    { host: 'localhost', origin: 'http://localhost.example' },
    { host: 'localhost', origin: 'null' },
    { host: 'localhost', origin: '' },
  ])('with %o', (headers) => {
    expect(foreignRequest(headers)).toMatch(/without tokens/);
  });
});
