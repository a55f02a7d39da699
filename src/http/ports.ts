import type { JobDirectory } from '../calls/jobs/job-directory.ts';
import type { ToolCaller } from '../calls/request-and-answer.ts';

/** The health of the hub for load balancers and watchdogs. */
export interface HealthReport {
  readonly status: 'starting' | 'ok' | 'degraded' | 'stopping';
  readonly nodeId: string;
  readonly version: string;
  readonly startedAtMs: number;
  /** One sentence for each problem. No sentence names a device or a person, because the health report is public. */
  readonly problems: readonly string[];
}

/** Port: the source of the hub's health report. */
export interface HealthSource {
  health(): HealthReport;
}

/** The methods of the call pipeline that HTTP and MCP use. */
export type CallPort = Pick<ToolCaller, 'call' | 'callAsync' | 'rehearse' | 'offeredTo' | 'obstacleTo'>;

/** The methods of the job directory that HTTP and MCP use. */
export type JobPort = Pick<JobDirectory, 'get' | 'list' | 'listElsewhere' | 'status' | 'cancel'>;
