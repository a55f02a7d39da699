import type { ComponentLogger, Logger } from '@libp2p/interface';

const nothing = (): void => undefined;

/** libp2p's own log lines tell addresses and peers in prose, and each connection would add loggers that are never freed: none of it. */
const silent: Logger = Object.assign(nothing, { error: nothing, trace: nothing, enabled: false, newScope: () => silent });

/** A logger for libp2p that says nothing; what matters, the engine counts and throws. */
export const silentLogger: ComponentLogger = { forComponent: () => silent };
