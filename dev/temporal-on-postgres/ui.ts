import { join } from 'node:path';
import { acceptsConnections, LOOPBACK } from '../processes/ports.ts';
import { writePrivateFile } from '../files/private-file.ts';
import {
  launchServer,
  type LaunchOptions,
  type ServerProcess,
} from '../processes/server-process.ts';
import { withoutTemporalSettings } from '../processes/temporal-process.ts';
import { configArguments } from './server.ts';

/**
 * Disabled actions: terminating, pausing or resetting the workflow of an order would block its money.
 * Signals and Updates stay enabled; the workflow refuses those that are not allowed.
 */
const UI_RESTRICTIONS = {
  workflowTerminateDisabled: true,
  workflowCancelDisabled: true,
  workflowResetDisabled: true,
  workflowPauseDisabled: true,
  batchActionsDisabled: true,
  startWorkflowDisabled: true,
  activityCommandsDisabled: true,
} as const;

/** How to run the Web UI. */
export interface TemporalUiOptions extends LaunchOptions {
  readonly program: string;
  /** The folder for its settings: the one of the server. */
  readonly folder: string;
  /** host:port of the server's gRPC service. */
  readonly temporalAddress: string;
  readonly namespace: string;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
}

/** A running Web UI. */
export interface TemporalUi extends Pick<ServerProcess, 'pid' | 'exited' | 'stop'> {
  readonly url: string;
}

function uiConfig({ temporalAddress, namespace, port }: TemporalUiOptions): string {
  return JSON.stringify({
    temporalGrpcAddress: temporalAddress,
    host: LOOPBACK,
    port,
    enableUi: true,
    defaultNamespace: namespace,
    // The Web UI uses plain HTTP, on the loopback interface only.
    cors: { cookieInsecure: true },
    disableNewsFetch: true,
    notifyOnNewVersion: false,
    ...UI_RESTRICTIONS,
  });
}

/**
 * Starts the Temporal Web UI on the loopback interface and waits until it accepts connections.
 *
 * @throws SetupError with the cause and a remedy.
 */
export async function startTemporalUi(options: TemporalUiOptions): Promise<TemporalUi> {
  const { program, folder, port, env } = options;
  writePrivateFile(join(folder, 'ui.yaml'), uiConfig(options));
  const server = await launchServer(
    'The Temporal Web UI',
    {
      file: program,
      args: [...configArguments(folder, 'ui'), 'start'],
      env: withoutTemporalSettings(env),
      stopSteps: [{ signal: 'SIGTERM', waitMs: 2000 }],
    },
    options,
    () => acceptsConnections(LOOPBACK, port),
  );
  return { ...server, url: `http://${LOOPBACK}:${port}` };
}
