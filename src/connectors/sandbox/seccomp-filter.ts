/** Builds a filter (classic BPF, seccomp(2), linux/filter.h). It denies system calls that no tool needs and that had vulnerabilities. */

/** Numbers of a processor architecture: AUDIT_ARCH, the system calls `socket` and `clone`, and the denied system calls. */
interface Machine {
  readonly audit: number;
  readonly socket: number;
  readonly clone: number;
  readonly numbers: readonly number[];
}

/**
 * The denied system calls in the order of X64 and ARM64. The first five use memory that belongs to no process: memfd_create, memfd_secret,
 * shmget, msgget, semget. Then follow userfaultfd, bpf, perf_event_open, add_key, request_key, keyctl, ptrace, process_vm_readv,
 * process_vm_writev, kexec_load, kexec_file_load, init_module, finit_module, delete_module, mount, umount2, pivot_root, chroot, setns,
 * unshare, quotactl, swapon, swapoff, reboot, syslog, acct, name_to_handle_at, open_by_handle_at, personality.
 */
const X64 = [
  319, 447, 29, 68, 64, 323, 321, 298, 248, 249, 250, 101, 310, 311, 246, 320, 175, 313, 176, 165, 166, 155, 161, 308, 272, 179, 167, 168,
  169, 103, 163, 303, 304, 135,
];
const ARM64 = [
  279, 447, 194, 186, 190, 282, 280, 241, 217, 218, 219, 117, 270, 271, 104, 294, 105, 273, 106, 40, 39, 41, 51, 268, 97, 60, 224, 225, 142,
  116, 89, 264, 265, 92,
];
/** Denied on all machines: io_uring_setup, _enter, _register, open_tree, move_mount, fsopen, fsconfig, fsmount, fspick, mount_setattr. */
const NEW_CALLS = [425, 426, 427, 428, 429, 430, 431, 432, 433, 442];

const MACHINES: Readonly<Record<string, Machine>> = {
  x64: { audit: 0xc000003e, socket: 41, clone: 56, numbers: [...X64, ...NEW_CALLS] },
  arm64: { audit: 0xc00000b7, socket: 198, clone: 220, numbers: [...ARM64, ...NEW_CALLS] },
};
/** Address families of sockets that every program may use: AF_INET, AF_INET6, AF_NETLINK. */
const NETWORK_FAMILIES = [2, 10, 16];
/** AF_UNIX is allowed only without network: in the machine's network, programs could connect to the abstract sockets of services. */
const UNIX_FAMILY = 1;
/** The flags of `clone` that create namespaces (CLONE_NEW*). They are denied: in a new user namespace, a program has all capabilities. */
const NEW_NAMESPACES = 0x7e020000;
/** clone3 has its flags in memory, which a filter cannot read. It fails with ENOSYS, so that libraries use `clone` instead. */
const CLONE3 = 435;
/** System calls of the x32 interface of x86-64 have numbers from this value on. The filter denies all of them. */
const X32 = 0x40000000;

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_NOT_BELOW = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
const REFUSE_EPERM = 0x00050001;
const REFUSE_ENOSYS = 0x00050026;
const KILL = 0x80000000;
/** Offsets of the fields in `struct seccomp_data`. */
const AT = { number: 0, arch: 4, firstArgument: 16 } as const;

type Instruction = readonly [code: number, jumpTrue: number, jumpFalse: number, k: number];

/** Returns the filter in bubblewrap's format; undefined for a machine whose system call numbers are unknown. */
export function seccompFilter(hasNetwork: boolean): Buffer | undefined {
  const machine = MACHINES[process.arch];
  return machine && encode(programOf(machine, hasNetwork ? NETWORK_FAMILIES : [...NETWORK_FAMILIES, UNIX_FAMILY]));
}

function programOf({ audit, socket, clone, numbers }: Machine, allowed: readonly number[]): readonly Instruction[] {
  const families: Instruction[] = allowed.map((family, index) => [JUMP_EQUAL, allowed.length - index, 0, family]);
  const denials: Instruction[] = numbers.map((number, index) => [JUMP_EQUAL, numbers.length - index, 0, number]);
  return [
    [LOAD, 0, 0, AT.arch],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL],
    [LOAD, 0, 0, AT.number],
    [JUMP_NOT_BELOW, 0, 1, X32],
    [RETURN, 0, 0, REFUSE_EPERM],
    [JUMP_EQUAL, 0, 1, CLONE3],
    [RETURN, 0, 0, REFUSE_ENOSYS],
    [JUMP_EQUAL, 0, 4, clone],
    [LOAD, 0, 0, AT.firstArgument],
    [JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES],
    [RETURN, 0, 0, REFUSE_EPERM],
    [RETURN, 0, 0, ALLOW],
    // Any system call other than `socket` skips the checks of address families.
    [JUMP_EQUAL, 0, families.length + 3, socket],
    [LOAD, 0, 0, AT.firstArgument],
    ...families,
    [RETURN, 0, 0, REFUSE_EPERM],
    [RETURN, 0, 0, ALLOW],
    ...denials,
    [RETURN, 0, 0, ALLOW],
    [RETURN, 0, 0, REFUSE_EPERM],
  ];
}

/** Encodes each instruction as a `struct sock_filter`: 16, 8, 8 and 32 bits. Both supported machines are little-endian. */
function encode(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, jumpTrue, jumpFalse, k]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(jumpTrue, index * 8 + 2);
    bytes.writeUInt8(jumpFalse, index * 8 + 3);
    bytes.writeUInt32LE(k, index * 8 + 4);
  }
  return bytes;
}
