// SPDX-License-Identifier: MIT
public import Refrain

extension CacheProxy {
  /// Begins to record a live stream (HLS) for a player that is about to play it, so that the player
  /// can go back to where it began, and pause for as long. Nothing is requested before the player
  /// loads the recording's `url`.
  ///
  /// Segments that the origin no longer offers are kept for `duration`, at most half of the cache's
  /// limit, and then removed. Segments that it forbids to store (`no-store`) cannot be played again.
  ///
  /// - Parameters:
  ///   - resource: the stream's first playlist, with the headers that it needs. Its `key` is not used.
  ///   - duration: how far the player can go back.
  /// - Returns: the recording, which ends with `StreamRecording.stop()`, or when it is released.
  /// - Throws: as `url(for:)`; `CacheProxyError`, `.invalidConfiguration` for a proxy of one origin.
  public func record(_ resource: Resource, keeping duration: Duration) throws -> StreamRecording {
    try record(resource, keeping: duration) { try await Task.sleep(for: $0) }
  }

  /// - Parameter pause: waits between two reloads of a playlist.
  func record(
    _ resource: Resource, keeping duration: Duration,
    pause: @escaping @Sendable (Duration) async throws -> Void
  ) throws -> StreamRecording {
    guard configuration.origin == nil else {
      throw CacheProxyError(
        .invalidConfiguration, "A proxy of one origin records no streams.",
        remedy: "Create one without an origin.")
    }
    let session = service.sessions.beginApart(
      with: resource.headersWithUser, for: resource.url.withoutUserInfo)
    session.add(service.cache.streamCookies(of: resource))
    let recording = StreamRecording(
      url: try proxiedURL(of: resource.url, session: session.id), keeping: duration, pause: pause)
    service.recordings.insert(recording, session: session.id)
    return recording
  }
}
