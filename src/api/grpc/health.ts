// gRPC health: overall and for each service, all alike, since one lane decides for all of them.
import type { Server, ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import { HealthImplementation, type ServingStatus } from 'grpc-health-check';
import { SERVICE_DESCS } from '../services/served-methods.ts';
import type { TrackedStreams } from './tracked-streams.ts';

// The empty name stands for the server as a whole.
const NAMES: readonly string[] = ['', ...SERVICE_DESCS.map(({ typeName }) => typeName)];

/** Serves health. Returns how to set it; it begins as NOT_SERVING. */
export function serveHealth(server: Server, streams: TrackedStreams): (serving: boolean) => void {
  const statuses = NAMES.map((name): [string, ServingStatus] => [name, 'NOT_SERVING']);
  const health = new HealthImplementation(Object.fromEntries(statuses));
  health.addToServer({
    addService: (definition: ServiceDefinition, implementation: UntypedServiceImplementation) =>
      server.addService(definition, streams.track(definition, implementation)),
  });
  return (serving) => {
    for (const name of NAMES) health.setStatus(name, serving ? 'SERVING' : 'NOT_SERVING');
  };
}
