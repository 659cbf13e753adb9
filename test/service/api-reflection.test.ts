// Reflection, v1 and v1alpha, as grpcurl uses it: the list of services, and descriptors from which every type can be built.
import { create, createFileRegistry, fromBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Client, credentials } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApiServers } from '../support/api-servers.ts';

// Fields of ServerReflectionRequest and ServerReflectionResponse, the same in both versions.
const FILE_CONTAINING_SYMBOL = 4;
const LIST_SERVICES = 7;
const FILE_DESCRIPTOR_RESPONSE = 4;
const LIST_SERVICES_RESPONSE = 6;

let servers: Awaited<ReturnType<typeof startApiServers>>;
let client: Client;

beforeEach(async () => {
  servers = await startApiServers();
  client = new Client(`127.0.0.1:${servers.grpc.port}`, credentials.createInsecure());
});

afterEach(async () => {
  client.close();
  await servers.stop();
});

/** The bytes of the fields with this number. */
function fieldsOf(bytes: Uint8Array, number: number): Uint8Array[] {
  const reader = new BinaryReader(bytes);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === number && wireType === WireType.LengthDelimited) found.push(reader.bytes());
    else reader.skip(wireType, field);
  }
  return found;
}

function ask(version: string, field: number, text: string): Promise<Buffer> {
  const asIs = (bytes: Buffer): Buffer => bytes;
  const path = `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`;
  const stream = client.makeBidiStreamRequest(path, asIs, asIs);
  const answered = new Promise<Buffer>((resolve, reject) => {
    stream.on('data', resolve);
    stream.on('error', reject);
  });
  stream.write(Buffer.from(new BinaryWriter().tag(field, WireType.LengthDelimited).string(text).finish()));
  stream.end();
  return answered;
}

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  it('lists the services', async () => {
    const [list] = fieldsOf(await ask(version, LIST_SERVICES, '*'), LIST_SERVICES_RESPONSE);
    const names = fieldsOf(list ?? new Uint8Array(), 1).map((entry) => Buffer.from(entry).toString().slice(2));
    expect(names.sort()).toEqual([
      'budgetd.v1.BudgetService',
      'budgetd.v1.EventService',
      'budgetd.v1.PriceService',
      'budgetd.v1.ReservationService',
      'budgetd.v1.ServerInfoService',
      'grpc.health.v1.Health',
    ]);
  });

  it.each([
    'budgetd.v1.ReservationService',
    'budgetd.v1.ReserveRequest',
    'budgetd.v1.Budget',
    'google.rpc.Status',
    'google.rpc.ErrorInfo',
    'google.rpc.QuotaFailure',
    'google.rpc.Code',
    'grpc.health.v1.Health',
  ])('describes %s whole', async (symbol) => {
    const [response] = fieldsOf(await ask(version, FILE_CONTAINING_SYMBOL, symbol), FILE_DESCRIPTOR_RESPONSE);
    const files = fieldsOf(response ?? new Uint8Array(), 1).map((bytes) =>
      fromBinary(FileDescriptorProtoSchema, bytes),
    );
    for (const message of files.flatMap(({ messageType }) => messageType)) {
      const entries = message.nestedType.filter(({ options }) => options?.mapEntry === true);
      expect(entries.every(({ name }) => name.endsWith('Entry'))).toBe(true);
    }
    if (symbol.startsWith('grpc.health')) {
      // The loader of health's proto writes names without their package, as reflection's users expect and a registry does not.
      expect(files.flatMap(({ service }) => service.map(({ name }) => name))).toContain('Health');
      return;
    }
    const known = new Set(files.map(({ name }) => name));
    const sorted: typeof files = [];
    while (sorted.length < files.length) {
      const placed = new Set(sorted.map(({ name }) => name));
      const next = files.filter(
        ({ name, dependency }) =>
          !placed.has(name) && dependency.every((needed) => placed.has(needed) || !known.has(needed)),
      );
      expect(next).not.toEqual([]);
      sorted.push(...next);
    }
    const registry = createFileRegistry(create(FileDescriptorSetSchema, { file: sorted }));
    expect(registry.get(symbol)?.typeName).toBe(symbol);
  });
});
