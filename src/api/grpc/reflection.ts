// gRPC reflection, v1 and v1alpha, from the generated descriptors, so that grpcurl needs no proto files.
import { type DescFile, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import type { Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { ReflectionService } from '@grpc/reflection';
import { file_google_rpc_code } from '../../gen/google/rpc/code_pb.ts';
import { file_google_rpc_error_details } from '../../gen/google/rpc/error_details_pb.ts';
import { SERVICE_DESCS } from '../services/served-methods.ts';
import { healthDescriptors } from './health-descriptor.ts';
import type { TrackedStreams } from './tracked-streams.ts';

function withDependencies(file: DescFile, into: Map<string, DescFile>): void {
  if (into.has(file.name)) return;
  into.set(file.name, file);
  for (const dependency of file.dependencies) withDependencies(dependency, into);
}

/** Every file that a caller may ask for: the contract, what it imports, and the types of error details. */
function reflectedFiles(): Buffer[] {
  const files = new Map<string, DescFile>();
  for (const { file } of SERVICE_DESCS) withDependencies(file, files);
  for (const file of [file_google_rpc_code, file_google_rpc_error_details]) withDependencies(file, files);
  return [...files.values()].map(({ proto }) => Buffer.from(toBinary(FileDescriptorProtoSchema, proto)));
}

/** Serves reflection. */
export function serveReflection(server: Server, streams: TrackedStreams): void {
  // Reflection reads the files of a definition and nothing else of it; this kind asks for nothing else.
  const format = 'Protocol Buffer 3 EnumDescriptorProto' as const;
  const fileDescriptorProtos = [...reflectedFiles(), ...healthDescriptors()];
  const reflection = new ReflectionService({ budgetd: { format, type: {}, fileDescriptorProtos } });
  reflection.addToServer({
    addService: (definition: ServiceDefinition, implementation: UntypedServiceImplementation) =>
      server.addService(definition, streams.track(definition, implementation)),
  });
}
