import type { JsonObject } from '../../core/json.ts';
import type { RunContext } from '../../core/storage/audit-sink.ts';
import type { RegisteredTool } from '../definition/tool-definition.ts';
import { sampleParams } from '../schema/schema-sample.ts';
import { answerHash } from './pure-run.ts';

/** What two runs of a tool with the same parameters showed. */
export interface DeterminismFinding {
  readonly tool: string;
  readonly determinism: 'deterministic' | 'bounded';
  readonly runs: number;
  /** Parameters with which the two answers differed; absent when none did. */
  readonly differs?: JsonObject;
}

const RUN: RunContext = { runId: 'self-check', logicalTimeMs: Date.UTC(2026, 0, 1), randomSeed: '00112233445566778899aabbccddeeff' };

/**
 * Runs every tool without side effects that is declared deterministic or bounded twice, with each of its examples and one
 * sample of its schema (source 001: declare determinism honestly, replay depends on it).
 */
export async function checkDeterminism(tools: readonly RegisteredTool[]): Promise<readonly DeterminismFinding[]> {
  const findings: DeterminismFinding[] = [];
  for (const tool of tools) {
    const { determinism, hasSideEffects } = tool.definition.execution;
    if (determinism !== 'nondeterministic' && !hasSideEffects) findings.push({ determinism, ...(await checkTool(tool)) });
  }
  return findings;
}

async function checkTool(tool: RegisteredTool): Promise<Omit<DeterminismFinding, 'determinism'>> {
  const { parameters, metadata } = tool.definition;
  const samples = [...metadata.examples.map((example) => example.params), sampleParams(parameters)];
  for (const params of samples) {
    const first = await answerHash(tool, params, RUN);
    if ((await answerHash(tool, params, RUN)) !== first) return { tool: tool.id, runs: samples.length, differs: params };
  }
  return { tool: tool.id, runs: samples.length };
}
