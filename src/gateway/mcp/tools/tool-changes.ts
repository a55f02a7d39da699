import type { Principal } from '../../../core/access/principal.ts';
import type { Clock } from '../../../core/time/clock.ts';
import type { RegisteredTool } from '../../../tools/definition/tool-definition.ts';
import type { RemoteTools } from '../../../tools/elsewhere/remote-tools.ts';
import type { ToolRegistry } from '../../../tools/tool-registry.ts';
import type { McpListener, McpNotices } from '../mcp-feature.ts';

/** A device that joins brings dozens of tools: what changes within this time is told once. */
const GATHER_MS = 250;

interface ChangeCollaborators {
  readonly registry: Pick<ToolRegistry, 'onChange'>;
  /** Tools of other hubs. */
  readonly remote: Pick<RemoteTools, 'onChange'>;
  readonly clock: Clock;
  readonly notices: Pick<McpNotices, 'toolsChanged'>;
  /** Whether a tool is in the list of a listener's view. */
  isListed(tool: RegisteredTool, view: McpListener['view']): boolean;
  visibleTo(principal: Principal): (tool: RegisteredTool) => boolean;
}

/** Tells clients that their list of tools changed: only those in whose list the change can be seen. */
export class ToolChanges implements Disposable {
  readonly #collaborators: ChangeCollaborators;
  readonly #stops: readonly (() => void)[];
  #changed: RegisteredTool[] = [];
  #isMeshChanged = false;
  #stopTimer: (() => void) | undefined;

  /** Listens from now on. */
  constructor(collaborators: ChangeCollaborators) {
    const { registry, remote } = collaborators;
    this.#collaborators = collaborators;
    this.#stops = [
      registry.onChange(({ tool }) => {
        this.#changed.push(tool);
        this.#gather();
      }),
      remote.onChange(() => {
        this.#isMeshChanged = true;
        this.#gather();
      }) ?? (() => {}),
    ];
  }

  [Symbol.dispose](): void {
    this.#stopTimer?.();
    for (const stop of this.#stops) stop();
  }

  #gather(): void {
    this.#stopTimer ??= this.#collaborators.clock.after(GATHER_MS, () => this.#tell());
  }

  #tell(): void {
    const { notices, isListed, visibleTo } = this.#collaborators;
    const changed = this.#changed;
    // Which tools of other hubs came or went is not known: every list of single tools may have changed.
    const isMeshChanged = this.#isMeshChanged;
    this.#changed = [];
    this.#isMeshChanged = false;
    this.#stopTimer = undefined;
    notices.toolsChanged(({ principal, view }) => {
      if (isMeshChanged && view.kind !== 'home') return true;
      const isVisible = visibleTo(principal);
      return changed.some((tool) => isListed(tool, view) && isVisible(tool));
    });
  }
}
