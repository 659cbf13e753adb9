// The descriptor of gRPC health as reflection must show it. Its own file because it mends what the loader of health's
// proto makes of a map: an entry named like its field, which readers of descriptors refuse (they want `…Entry`).
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { type DescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { service as healthService } from 'grpc-health-check';

const SUFFIX = 'Entry';

function mendMaps(message: DescriptorProto): void {
  for (const nested of message.nestedType) {
    mendMaps(nested);
    if (nested.options?.mapEntry !== true || nested.name.endsWith(SUFFIX)) continue;
    const mended = nested.name + SUFFIX;
    for (const field of message.field) {
      if (field.typeName === nested.name) field.typeName = mended;
    }
    nested.name = mended;
  }
}

/** The files of gRPC health, encoded. */
export function healthDescriptors(): Buffer[] {
  const encoded = Object.values(healthService)[0]?.requestType.fileDescriptorProtos ?? [];
  return encoded.map((bytes) => {
    const file = fromBinary(FileDescriptorProtoSchema, bytes);
    file.messageType.forEach(mendMaps);
    return Buffer.from(toBinary(FileDescriptorProtoSchema, file));
  });
}
