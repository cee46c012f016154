// SPDX-License-Identifier: MIT
#if os(Linux)
  public import Refrain

  /// Plays audio and video with the system's libmpv, which reads through a cache. A stream (HLS,
  /// DASH) plays from its `EngineItem.streamURL`, an http URL.
  ///
  /// libmpv is called on a thread of its own. The process's numeric locale has to be "C", as it is
  /// unless a program changes it. Releasing the engine ends playback.
  @MainActor
  public final class MPVEngine: PlayerEngine {
    public var report: (@MainActor (EngineEvent) -> Void)?

    /// As of the start: finding a display connects to it.
    public let capabilities: PlayerCapabilities

    private let cache: MediaCache
    let video: VideoConfiguration
    let mailbox: MPVMailbox
    /// The current and the following item; events of others are not reported.
    private var live: Set<EngineItem.ID> = []
    /// The opening of the item to be loaded next.
    private var ahead: OpeningAhead?
    /// The latest playbacks, kept for their statistics.
    private var playbacks: [MPVPlayback] = []

    /// Starts libmpv, which is loaded with the first engine of a process.
    ///
    /// - Throws: `MPVError` if libmpv is missing, too old, or cannot be set up.
    public convenience init(
      cache: MediaCache, output: AudioOutput = .device, video: VideoConfiguration = .none
    ) async throws {
      try await self.init(cache: cache, output: output, video: video, library: MPVLibrary.name)
    }

    /// - Parameter library: the file name of libmpv.
    init(
      cache: MediaCache, output: AudioOutput, video: VideoConfiguration = .none, library: String
    ) async throws {
      self.cache = cache
      self.video = video
      capabilities = Self.capabilities(showing: video)
      let (events, continuation) = AsyncStream.makeStream(of: MPVMessage.self)
      mailbox = try await MPVLoop.start(
        library: library, output: output, video: video, events: continuation)
      Task { [weak self, weak mailbox] in
        for await news in events {
          if let self {
            take(news)
          } else if case .held(let hook) = news {
            // The engine is gone, so nothing follows, and libmpv is about to end.
            mailbox?.post(.goOn(hook))
          }
        }
      }
    }

    deinit { mailbox.post(.quit) }

    // MARK: PlayerEngine

    public func load(_ item: EngineItem, at start: Duration, isPaused: Bool) {
      live = [item.id]
      current = item.id
      mailbox.post(.load(playback(of: item), start: start, isPaused: isPaused))
    }

    /// Gives the engine the opening of the item that it loads next. If it loads another one, or
    /// stops, the opening ends.
    package func begin(with opening: OpeningAhead?) {
      ahead?.end()
      ahead = opening
    }

    public func follow(with item: EngineItem?) {
      // libmpv opens a following file early, and without that file's own options: a stream, which
      // needs them, is loaded when its turn comes.
      let item = item?.streamURL == nil ? item : nil
      // The previous following item is discarded.
      live = live.filter { $0 == current }
      playbacks.removeAll { $0.item.id != current && $0.item.id.rawValue > current?.rawValue ?? 0 }
      if let item { live.insert(item.id) }
      mailbox.post(.follow(item.map(playback)))
    }

    public func play() { mailbox.post(.pause(false)) }

    public func pause() { mailbox.post(.pause(true)) }

    public func seek(to position: Duration, serial: Int) {
      guard let current else { return }
      mailbox.post(.seek(current, position, serial: serial))
    }

    public func setRate(_ rate: Double) { mailbox.post(.rate(rate.limited(to: Player.rates))) }

    public func setVolume(_ volume: Double, isMuted: Bool) {
      mailbox.post(.volume(min(max(volume, 0), 1), isMuted: isMuted))
    }

    public func prefer(_ languages: TrackLanguages) { mailbox.post(.languages(languages)) }

    /// Applies the gains that media state in their tags, or none, at once.
    public func setReplayGain(_ mode: ReplayGain) { mailbox.post(.replayGain(mode)) }

    /// Sends the sound to another device, without a seek or a request; `device` is the `name` of
    /// one of `audioDevices()`. Nil: the system's.
    public func setAudioDevice(_ device: String?) { mailbox.post(.device(device)) }

    public func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
      mailbox.post(.select(track, kind))
    }

    public func setShowsVideo(_ showsVideo: Bool) { mailbox.post(.showVideo(showsVideo)) }

    public func toggleFullscreen() { mailbox.post(.command(["cycle", "fullscreen"])) }

    public func setFullscreen(_ isFullscreen: Bool) {
      mailbox.post(.command(["set", "fullscreen", isFullscreen ? "yes" : "no"]))
    }

    private static func capabilities(showing video: VideoConfiguration) -> PlayerCapabilities {
      var capabilities = PlayerCapabilities.ofPlatform
      if video.output == .none {
        (capabilities.selectableTracks, capabilities.externalSubtitles) = ([.audio], false)
      }
      if video.output != .window { capabilities.window = false }
      return capabilities
    }

    public func stop() {
      live = []
      current = nil
      begin(with: nil)
      mailbox.post(.stop)
    }

    public func statistics(of item: EngineItem.ID) -> MediaReader.Statistics? {
      playbacks.last { $0.item.id == item }?.statistics
    }

    /// Ends playback and libmpv. Returns when every stream is closed and an output file is
    /// complete.
    public func close() async {
      live = []
      current = nil
      begin(with: nil)
      await mailbox.close()
    }

    // MARK: Events

    /// The item that was loaded last, or has followed it since.
    private var current: EngineItem.ID?

    private func playback(of item: EngineItem) -> MPVPlayback {
      let ahead = ahead.flatMap { $0.fits(item) ? $0 : nil }
      if ahead == nil { begin(with: nil) }
      self.ahead = nil
      let playback = MPVPlayback(item: item, cache: cache, ahead: ahead)
      // Besides the new one, keeps the following, the current and the previous playback.
      playbacks = playbacks.suffix(3) + [playback]
      return playback
    }

    private func take(_ news: MPVMessage) {
      switch news {
      case .event(let event): take(event)
      // All earlier events have been handled by now.
      case .held(let hook): mailbox.post(.goOn(hook))
      }
    }

    /// Reports an event if its item is still wanted.
    private func take(_ event: EngineEvent) {
      switch event {
      case .ended(let id, let next):
        guard live.remove(id) != nil else { return }
        current = next.flatMap { live.contains($0) ? $0 : nil }
        report?(.ended(id, followedBy: current))
      case .failed(let id, _):
        guard live.remove(id) != nil else { return }
        report?(event)
      default:
        guard event.item.map(live.contains) ?? true else { return }
        report?(event)
      }
    }
  }
#endif
