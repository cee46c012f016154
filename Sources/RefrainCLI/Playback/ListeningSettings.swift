// SPDX-License-Identifier: MIT
#if os(Linux)
  import Refrain
  import RefrainPlayer

  /// How `play` plays, and whether it goes on where the listener was.
  struct ListeningSettings: Sendable {
    /// Whether positions and the queue are stored.
    var remembers = false
    var beginsWhereLeft = true
    /// Whether the listener gave a volume, which then holds for all items.
    var hasVolume = false
    var rate: Double?
    /// As the listener names it; nil: the system's.
    var device: String?
    var replayGain = ReplayGain.off
    /// The bytes of a live stream to keep for going back in it; nil: one cannot.
    var rewind: Int64?

    /// Returns how a player goes on; nil: it stores nothing.
    func resumption(in cache: MediaCache) async -> Resumption? {
      guard remembers else { return nil }
      var resumption = Resumption(await PlaybackPositions.open(for: cache))
      resumption.beginsWhereLeft = beginsWhereLeft
      resumption.restoresVolume = !hasVolume
      return resumption
    }

    /// Sets the gains of an engine before it plays.
    ///
    /// - Returns: libmpv's name of the device; nil: the system's.
    /// - Throws: `ProgramError` if there is no such device; `MPVError`.
    @MainActor
    func apply(to engine: MPVEngine) async throws -> String? {
      if replayGain != .off { engine.setReplayGain(replayGain) }
      guard let device else { return nil }
      return try SoundDevices.find(device, among: try await MPVEngine.audioDevices())
    }

    /// Returns the last queue.
    ///
    /// - Throws: `ProgramError` if there is none; `MediaCacheError` if it cannot be read.
    static func lastSession(in cache: MediaCache) async throws -> PlayerSession {
      guard let session = try await SavedSession(for: cache).load(), !session.queue.isEmpty else {
        throw ProgramError(
          "There is no queue to go on with.",
          remedy: "'refrain play' stores the queue that it plays; name files and URLs.")
      }
      return session
    }
  }
#endif
