import { createHash, randomUUID } from 'node:crypto';
import type { VirtualTime } from '../clock/virtual-time.js';
import type { Account, World } from '../packs/world.js';

interface SessionRules {
  tokensPerUser: number;
  tokenLifeMs: number;
  tokenIdleMs: number;
}

interface Session {
  account: Account;
  openedVirtualMs: number;
  usedVirtualMs: number;
  /** The newest use that a restart will know of. */
  keptVirtualMs: number;
}

/** A token as the journal knows it. */
export interface KeptToken {
  digest: string;
  account: string;
  openedVirtualMs: number;
  usedVirtualMs: number;
}

interface PendingCode {
  account: Account;
  issuedVirtualMs: number;
}

/** A restart forgets the uses of a minute at the most. */
const KEEP_USE_EVERY_MS = 60_000;
const CODE_LIFE_MS = 600_000;
const MAX_CODES = 10_000;

/**
 * Codes and tokens (registry-interface 5). Lives are counted on the virtual clock; tokens are known by their digest
 * only.
 */
export class Sessions {
  private readonly codes = new Map<string, PendingCode>();
  private readonly sessions = new Map<string, Session>();

  constructor(
    private readonly clock: VirtualTime,
    private readonly rules: SessionRules,
    private readonly keepUse: (digest: string, virtualMs: number) => void,
  ) {}

  /** A code for the user to sign. */
  issueCode(account: Account): string {
    const code = randomUUID();
    this.codes.set(code, { account, issuedVirtualMs: this.clock.nowMs() });
    if (this.codes.size > MAX_CODES) this.codes.delete(this.codes.keys().next().value as string);
    return code;
  }

  /** Whose code it is, while it lives. */
  ownerOfCode(code: string): Account | undefined {
    const pending = this.codes.get(code);
    return pending !== undefined && this.clock.nowMs() - pending.issuedVirtualMs <= CODE_LIFE_MS
      ? pending.account
      : undefined;
  }

  /** Whether the user may hold one more token. */
  hasRoom(account: Account): boolean {
    return this.tokensOf(account.name) < this.rules.tokensPerUser;
  }

  /** A new token in exchange for the code; `keep` makes it durable before it is given. */
  open(account: Account, code: string, keep: (digest: string, virtualMs: number) => void): string {
    const token = randomUUID();
    const now = this.clock.nowMs();
    const digest = digestOf(token);
    keep(digest, now);
    this.codes.delete(code);
    this.sessions.set(digest, { account, openedVirtualMs: now, usedVirtualMs: now, keptVirtualMs: now });
    return token;
  }

  restore(world: World, token: KeptToken): void {
    const account = world.accountsByName.get(token.account);
    if (account === undefined) return;
    const { digest, openedVirtualMs, usedVirtualMs } = token;
    this.sessions.set(digest, { account, openedVirtualMs, usedVirtualMs, keptVirtualMs: usedVirtualMs });
  }

  /** The user of a token that lives; this counts as use. */
  use(token: string): Account | undefined {
    const digest = digestOf(token);
    const session = this.sessions.get(digest);
    if (session === undefined) return undefined;
    const now = this.clock.nowMs();
    if (!this.lives(session, now)) {
      this.sessions.delete(digest);
      return undefined;
    }
    session.usedVirtualMs = now;
    if (now - session.keptVirtualMs >= KEEP_USE_EVERY_MS) {
      this.keepUse(digest, now);
      session.keptVirtualMs = now;
    }
    return session.account;
  }

  /** Ends a token; returns its digest. */
  close(token: string): string {
    const digest = digestOf(token);
    this.sessions.delete(digest);
    return digest;
  }

  knows(token: string): boolean {
    return this.sessions.has(digestOf(token));
  }

  /** Living tokens of each account. */
  counts(): Record<string, number> {
    const now = this.clock.nowMs();
    const counts: Record<string, number> = {};
    for (const [digest, session] of this.sessions) {
      if (this.lives(session, now)) counts[session.account.name] = (counts[session.account.name] ?? 0) + 1;
      else this.sessions.delete(digest);
    }
    return counts;
  }

  private tokensOf(account: string): number {
    return this.counts()[account] ?? 0;
  }

  private lives(session: Session, now: number): boolean {
    return (
      now - session.openedVirtualMs < this.rules.tokenLifeMs && now - session.usedVirtualMs <= this.rules.tokenIdleMs
    );
  }
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64url');
