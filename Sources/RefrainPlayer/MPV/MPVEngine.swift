// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Refrain

  /// Plays resources through a cache with the system's libmpv. Sound only.
  ///
  /// One resource plays at a time; loading another replaces it. Every call returns at once, from any
  /// thread: libmpv is spoken to on a thread of its own, in the order of the calls. The process's
  /// numeric locale has to be "C", as it is unless a program changes it.
  ///
  /// Hold on to the engine while it plays: letting go of it ends what plays.
  public final class MPVEngine: Sendable {
    private let mailbox: MPVMailbox

    /// Starts libmpv.
    ///
    /// - Throws: `MediaCacheError` where libmpv cannot be set up.
    public init(output: AudioOutput = .device) async throws {
      mailbox = try await MPVLoop.start(output: output)
    }

    deinit { mailbox.post(.quit) }

    /// Plays a resource in place of the one that plays.
    ///
    /// - Parameters:
    ///   - fill: what is fetched while it plays. By default the whole resource.
    ///   - start: where to begin.
    ///   - paused: whether to wait at the start for `play()`.
    public func load(
      _ resource: Resource, from cache: MediaCache, fill: FillPolicy = .wholeResource,
      start: Duration = .zero, paused: Bool = false
    ) -> MPVPlayback {
      let playback = MPVPlayback(resource: resource, cache: cache, fill: fill)
      mailbox.post(.load(playback, start: start, paused: paused))
      return playback
    }

    public func play() { mailbox.post(.pause(false)) }

    public func pause() { mailbox.post(.pause(true)) }

    /// Goes to a position, exactly. Before the start is the start; past the end, playback ends.
    public func seek(to position: Duration) { mailbox.post(.seek(position)) }

    /// 0 for silence, 1 for the loudness of the media; up to 1.3.
    public func setVolume(_ volume: Double) { mailbox.post(.volume(volume)) }

    /// Ends what plays. The engine stays ready for another resource.
    public func stop() { mailbox.post(.stop) }

    /// Ends what plays, and libmpv. Returns when every stream is closed and an output file is whole.
    public func close() async { await mailbox.close() }
  }
#endif
