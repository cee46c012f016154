// SPDX-License-Identifier: MIT

/// Which networks may be used for what. Apple's platforms only: Linux tells no program what a network
/// costs, nor whether there is one, so that every request is made there.
public struct NetworkPolicy: Sendable, Hashable {
  /// What a request may use.
  public struct Access: Sendable, Hashable {
    /// Networks that cost by the byte: cellular ones, personal hotspots
    /// (`URLRequest.allowsExpensiveNetworkAccess`).
    public var allowsExpensive: Bool
    /// Networks for which the user has switched on Low Data Mode
    /// (`URLRequest.allowsConstrainedNetworkAccess`).
    public var allowsConstrained: Bool

    public init(allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
      self.allowsExpensive = allowsExpensive
      self.allowsConstrained = allowsConstrained
    }
  }

  /// For bytes that a player waits for. Whoever presses play wants to hear it: everything is allowed.
  public var playback = Access()

  /// For what is fetched before anybody plays it: `MediaCache.prefetch`, and filling behind a player
  /// (`FillPolicy.wholeResource`). Once a player waits for the bytes, `playback` holds.
  ///
  /// Cellular networks are allowed, for a prefetch is something that the app has asked for, and on
  /// many devices there is no other network. Low Data Mode is not: with it, the user has said that
  /// nothing is to be fetched in advance. A prefetch that finds no other network ends in
  /// `MediaCacheError.Code.networkNotAllowed`.
  public var prefetch = Access(allowsConstrained: false)

  /// While the device has no network, a fetch waits for one and then goes on by itself, for as long
  /// as its reader waits; it uses up none of `RetryPolicy.attempts`. False: it fails, is tried again
  /// as `RetryPolicy` has it, and ends in `MediaCacheError.Code.unreachable`.
  ///
  /// What may not use every network waits for one that it may use, where there is none at all when it
  /// is asked for; where there is one that it may not use, it ends in an error that says so. The
  /// confirmation of what is stored is never waited for: what is stored plays.
  public var waitsForConnectivity = true

  public init() {}
}
