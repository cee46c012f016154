// SPDX-License-Identifier: MIT
public import Refrain

extension Player {
  /// The settings of a player. Changes have no effect once the player is created.
  public struct Configuration: Sendable {
    /// The fill policy for an item while it plays.
    public var fill = FillPolicy.wholeResource
    /// Whether the next item is fetched while the current one plays.
    public var prefetchesNext = true
    /// How much of the next item is fetched before the current one is stored completely, in bytes.
    public var opening: Int64 = 512 << 10
    /// The support for streams (HLS, DASH), from RefrainPlayerStreams: they play from a local proxy
    /// over the same cache.
    ///
    /// Nil: AVPlayer loads streams itself, without the cache; libmpv does not play them.
    public var streams: PlayerStreams?
    /// Reads an item as a list of media, such as a playlist or a feed under a name that ends in
    /// `.mp3`: the engine found no media in it, for the given reason, it was not heard, and it is no
    /// stream. Its bytes are stored then, unless the origin forbids that. Called on any thread.
    ///
    /// Returns the media that it lists, which take its place in the queue (`PlayerEvent.expanded`):
    /// the first plays, in a shuffled queue one of them, from the position that was asked for the
    /// item and with its subtitles. Returns nil or nothing for what is no list, which fails with the
    /// engine's error; any other `MediaCacheError` that is thrown replaces that error.
    ///
    /// Lists in lists are expanded to a depth of 8, and never in themselves (`Media.lists`).
    ///
    /// Nil: such an item fails. An app that knows its lists reads them with `Playlist` beforehand.
    public var readList:
      (@Sendable (_ media: Media, _ failure: MediaCacheError) async throws -> [Media]?)?

    /// The most memory, in bytes, that a live stream may take for pausing and going back in it,
    /// within `PlayerState.liveWindow`; nil: it does not seek. For engines that can
    /// (`PlayerCapabilities.rewind`).
    ///
    /// The engine keeps what it receives of a station or live stream, also during a pause, and
    /// drops the oldest. An hour of sound with 128 kbit/s takes some 130 MiB; a stream of segments
    /// may take 32 MiB in any case. After a pause that lasts longer than there is room for, playback
    /// goes on where it was paused, and then at the present. A station in MP3, AAC or Ogg that
    /// breaks off is joined again; other streams are loaded again, and what was kept of them is
    /// gone.
    public var rewind: Int64?

    /// Where video is shown, if the player makes its own engine. libmpv only
    /// (`PlayerCapabilities.ofPlatform`).
    public var video = VideoConfiguration.none

    /// How items begin where the listener left them; nil: they begin at their start, and no position
    /// is stored.
    public var resumption: Resumption?
    /// Where the queue and the position in it are stored as they change, for `Player.restore(_:)`;
    /// nil: nowhere.
    public var savedSession: SavedSession?

    public init() {}
  }
}

extension Player {
  /// The playback rates that a player supports.
  public nonisolated static let rates = 0.25...4.0
}

extension Double {
  /// Returns the nearest number within a range.
  func limited(to range: ClosedRange<Double>) -> Double {
    min(max(self, range.lowerBound), range.upperBound)
  }
}
