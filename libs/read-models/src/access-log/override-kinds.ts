/** What a person went against. */
export const OVERRIDE_KINDS = [
  'waiver',
  'release',
  'confirmation',
  'end',
  'resend',
  'retry',
  'discard',
  'log',
] as const;
export type OverrideKind = (typeof OVERRIDE_KINDS)[number];

/** Types of events by which somebody overrides: each is in the log of access too. A further kind is one line here. */
export const OVERRIDES: Readonly<Record<string, OverrideKind>> = {
  DocumentRegistered: 'waiver',
  GroupRegistered: 'waiver',
  HoldWaived: 'release',
  GroupHoldWaived: 'release',
  AccountResumed: 'release',
  RestorationReleased: 'release',
  SuspendedListConfirmed: 'confirmation',
  PackRunStarted: 'confirmation',
  DocumentRefused: 'end',
  GroupHalted: 'end',
  GroupConcluded: 'end',
  DocumentResent: 'resend',
  GroupResumed: 'resend',
  CaseRemedyReleased: 'resend',
  InboundAskedAgain: 'retry',
  TaskRetried: 'retry',
  ParkedRetried: 'retry',
  OrphansReplanned: 'retry',
  DeadLetterReplayed: 'retry',
  DeadLetterDiscarded: 'discard',
  BackupRestored: 'log',
  AuditLogBroken: 'log',
};
