import type { JobDirectory } from '../calls/jobs/job-directory.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';

/** How the hub is, as a load balancer and a watchdog want to know it. */
export interface HealthReport {
  readonly status: 'starting' | 'ok' | 'degraded' | 'stopping';
  readonly nodeId: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** What is wrong, one line each, without names of devices or people: everyone may read it. */
  readonly problems: readonly string[];
}

/** Port: the hub's own view of its health. */
export interface HealthSource {
  health(): HealthReport;
}

/** The calls that HTTP and MCP make. */
export type CallPort = Pick<ToolCaller, 'call' | 'callAsync' | 'offeredTo' | 'obstacleTo'>;

/** What the door uses of the jobs. */
export type JobPort = Pick<JobDirectory, 'get' | 'list' | 'listElsewhere' | 'status' | 'cancel'>;
