import type { JsonObject } from '../../core/json.ts';
import type { AgentOsContext, AgentOsTool, ArgumentsCheck, ExecutableAgentOsTool } from './agent-os-tool.ts';
import type { ExecutionResult } from './result-forms.ts';

/** A tool as AgentOS writes it (source 002 §2.2, `Tool`): `super()` takes all of its properties, `execute` is its own. */
export abstract class AgentOsBaseTool implements ExecutableAgentOsTool {
  readonly id: string;
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
  readonly outputSchema: JsonObject | undefined;
  readonly requiredCapabilities: readonly string[] | undefined;
  readonly category: string | undefined;
  readonly version: string | undefined;
  readonly hasSideEffects: boolean | undefined;

  constructor(properties: AgentOsTool) {
    this.id = properties.id;
    this.name = properties.name;
    this.displayName = properties.displayName;
    this.description = properties.description;
    this.inputSchema = properties.inputSchema;
    this.outputSchema = properties.outputSchema;
    this.requiredCapabilities = properties.requiredCapabilities;
    this.category = properties.category;
    this.version = properties.version;
    this.hasSideEffects = properties.hasSideEffects;
  }

  abstract execute(args: JsonObject, context: AgentOsContext): Promise<ExecutionResult>;

  /** Override to check more than the schema says. */
  async validateArgs(_args: JsonObject): Promise<ArgumentsCheck> {
    return { isValid: true };
  }

  /** Override to give back what the tool holds. */
  async shutdown(): Promise<void> {}

  /** What a model needs to call the tool (source 002 §2.3, ToolDefinition). */
  getDefinitionForLLM(): { readonly name: string; readonly description: string; readonly parameters: JsonObject } {
    const { name, description, inputSchema: parameters } = this;
    return { name, description, parameters };
  }
}
