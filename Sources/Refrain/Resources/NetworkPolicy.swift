// SPDX-License-Identifier: MIT

/// Which networks may be used for what. Apple platforms only: Linux reports neither the cost of a
/// network nor whether there is one, and every request is made there.
public struct NetworkPolicy: Sendable, Hashable {
  /// The networks that a request may use.
  public struct Access: Sendable, Hashable {
    /// Networks that charge by the byte: cellular ones, personal hotspots
    /// (`URLRequest.allowsExpensiveNetworkAccess`).
    public var allowsExpensive: Bool
    /// Networks for which the user has turned on Low Data Mode
    /// (`URLRequest.allowsConstrainedNetworkAccess`).
    public var allowsConstrained: Bool

    public init(allowsExpensive: Bool = true, allowsConstrained: Bool = true) {
      self.allowsExpensive = allowsExpensive
      self.allowsConstrained = allowsConstrained
    }
  }

  /// The networks for bytes that a player waits for. A user who presses play wants to hear it: all
  /// networks are allowed.
  public var playback = Access()

  /// The networks for bytes fetched before anybody plays them: `MediaCache.prefetch`, and filling
  /// behind a player (`FillPolicy.wholeResource`). Once a player waits for the bytes, `playback`
  /// applies.
  ///
  /// Cellular networks are allowed, since the app has asked for the prefetch, and many devices have
  /// no other network. Low Data Mode is not: it means that the user wants nothing fetched in
  /// advance. A prefetch that finds no other network fails with
  /// `MediaCacheError.Code.networkNotAllowed`.
  public var prefetch = Access(allowsConstrained: false)

  /// Whether a fetch on a device without a network waits for one and then continues, as long as its
  /// reader waits; the wait uses up none of `RetryPolicy.attempts`. False: the fetch fails, is
  /// retried by `RetryPolicy`, and ends in `MediaCacheError.Code.unreachable`.
  ///
  /// A request that may not use every network waits while the device has no network at all; if
  /// the device has only networks that the request may not use, it fails with an error that says
  /// so. Revalidation never waits: stored bytes play.
  public var waitsForConnectivity = true

  public init() {}
}
