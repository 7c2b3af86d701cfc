/** Where the simulator reports; pino fits. */
export interface SimulatorLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}

export interface GatewaySimulatorOptions {
  host?: string;
  /** 0 takes any free one. */
  port: number;
  keyId: string;
  keySecret: string;
  webhookSecret: string;
  /** Where callbacks go; without it they are made and fail. */
  callbackUrl?: string | undefined;
  /** The journal that outlives the process; without it the state is lost with it. */
  dataFile?: string | undefined;
  /** The address under which a buyer's browser reaches it, if not `http://host:port`. */
  publicUrl?: string | undefined;
  /** Waits between the tries of one callback; Razorpay's go on for a day. */
  callbackRetryDelaysMs?: readonly number[];
  /** Razorpay waits 5 s for the answer to a callback. */
  callbackTimeoutMs?: number;
  /** For everything that is left to chance. */
  seed?: number;
  log?: SimulatorLog;
}
