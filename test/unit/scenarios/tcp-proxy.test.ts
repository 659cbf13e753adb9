// Each way in which the proxy lets the network fail does what it says, against a real server on the loopback interface.
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts';

let server: Server;
let proxy: TcpProxy;
let received = '';
const clients: Socket[] = [];

/** Every byte that came is kept, and sent back. */
beforeEach(async () => {
  received = '';
  server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString();
      socket.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy = await startTcpProxy({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
});

afterEach(async () => {
  for (const socket of clients.splice(0)) socket.destroy();
  await proxy.close();
  server.close();
});

async function open(): Promise<Socket> {
  const socket = connect(proxy.port, '127.0.0.1');
  clients.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** The end of a connection, with an error or without. */
async function closed(socket: Socket): Promise<void> {
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
}

function answersOf(socket: Socket): { text: string } {
  const seen = { text: '' };
  socket.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString();
  });
  return seen;
}

test('passes bytes on, both ways', async () => {
  const socket = await open();
  socket.write('hello');
  const [echo] = await once(socket, 'data');
  expect(String(echo)).toBe('hello');
  expect(proxy.connectionCount()).toBe(1);
});

test('cut ends live connections and takes new ones', async () => {
  const socket = await open();
  socket.write('one');
  await once(socket, 'data');
  proxy.cut();
  await closed(socket);
  const next = await open();
  next.write('two');
  const [echo] = await once(next, 'data');
  expect(String(echo)).toBe('two');
});

test('refuse ends live connections and new ones, until pass', async () => {
  const socket = await open();
  proxy.refuse();
  await closed(socket);
  const refused = connect(proxy.port, '127.0.0.1');
  refused.on('error', () => undefined);
  await closed(refused);
  proxy.pass();
  const next = await open();
  next.write('back');
  const [echo] = await once(next, 'data');
  expect(String(echo)).toBe('back');
});

test('a stall of answers lets the request through and holds its answer, until pass', async () => {
  const socket = await open();
  const seen = answersOf(socket);
  proxy.stall('to-client');
  socket.write('commit');
  await vi.waitFor(() => expect(received).toBe('commit'));
  expect(seen.text).toBe('');
  proxy.pass();
  await vi.waitFor(() => expect(seen.text).toBe('commit'));
});

test('a stall of requests holds them back, on new connections too', async () => {
  proxy.stall('to-server');
  const socket = await open();
  const seen = answersOf(socket);
  socket.write('held');
  await vi.waitFor(() => expect(socket.writableLength).toBe(0));
  expect(received).toBe('');
  proxy.pass();
  await vi.waitFor(() => expect(seen.text).toBe('held'));
});

test('a delay keeps the order, and pass ends it for what is under way', async () => {
  const socket = await open();
  const seen = answersOf(socket);
  socket.write('0');
  await vi.waitFor(() => expect(seen.text).toBe('0'));
  proxy.delay(3_600_000);
  socket.write('1');
  await vi.waitFor(() => expect(socket.writableLength).toBe(0));
  expect(received).toBe('0');
  proxy.pass();
  socket.write('2');
  await vi.waitFor(() => expect(seen.text).toBe('012'));
});

test('a server that is not there ends the connection', async () => {
  const gone = createServer();
  gone.listen(0, '127.0.0.1');
  await once(gone, 'listening');
  const { port } = gone.address() as AddressInfo;
  gone.close();
  await once(gone, 'close');
  const lonely = await startTcpProxy({ host: '127.0.0.1', port });
  const socket = connect(lonely.port, '127.0.0.1');
  clients.push(socket);
  const seen = answersOf(socket);
  socket.on('error', () => undefined);
  await closed(socket);
  expect(seen.text).toBe('');
  await vi.waitFor(() => expect(lonely.connectionCount()).toBe(0));
  // It goes on listening: the next one is taken, and ended, too.
  const next = connect(lonely.port, '127.0.0.1');
  clients.push(next);
  next.on('error', () => undefined);
  let connected = false;
  next.once('connect', () => {
    connected = true;
  });
  await closed(next);
  expect(connected).toBe(true);
  await lonely.close();
});
