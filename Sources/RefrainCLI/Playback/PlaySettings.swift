// SPDX-License-Identifier: MIT
#if os(Linux)
  import Foundation
  import Refrain
  import RefrainPlayer

  /// The settings of `play`.
  struct PlaySettings: Sendable {
    var start = Duration.zero
    var seek: Duration?
    /// The WAV file that replaces the sound device.
    var output: URL?
    /// Nil: that of the stored queue, or none.
    var repeatMode: PlayQueue.RepeatMode?
    var isShuffled = false
    var volume = 1.0
    var isPaused = false
    var isJSON = false
    /// Whether only errors are noted on standard error.
    var isQuiet = false
    var video = VideoChoice()
    /// The subtitles of the first item.
    var subtitles: [Media.Subtitle] = []
    var listening = ListeningSettings()
    /// The options for media that a desktop opens; nil: the player is not offered to it.
    var desktop: GlobalOptions?
  }

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

  /// Whether `play` shows video. A pure value.
  struct VideoChoice: Sendable, Hashable {
    /// `--audio-only`.
    var isSoundOnly = false
    /// `--audio-output`: the sound is written as fast as it can be decoded.
    var hasOutputFile = false
    /// `--window`.
    var showsCovers = false
    /// Nil: no window can be opened.
    var display: Display?

    var showsVideo: Bool { !isSoundOnly && !hasOutputFile && display != nil }

    var configuration: VideoConfiguration {
      var video = showsVideo ? VideoConfiguration.window : .none
      video.showsCovers = showsVideo && showsCovers
      // The panel's list of programs that play needs them for sound too.
      (video.applicationID, video.applicationName) = ("refrain", "Refrain")
      return video
    }

    /// Whether to report that pictures and subtitles are missing because there is no display.
    var reportsMissingDisplay: Bool { !isSoundOnly && !hasOutputFile && display == nil }

    static let missingDisplayText =
      "No display was found: playing only the sound, without pictures and subtitles. "
      + "--audio-only omits this line."
  }

  /// The sound devices that `--device` names.
  enum SoundDevices {
    /// Returns libmpv's name of the device that a listener means.
    ///
    /// Several drivers list the same devices: the first driver counts that leaves no choice.
    ///
    /// - Parameter text: the name of a device, or a part of its description.
    static func find(_ text: String, among devices: [AudioDevice]) throws -> String {
      if let device = devices.first(where: { $0.name == text }) { return device.name }
      let similar = devices.filter {
        $0.description.range(of: text, options: [.caseInsensitive, .diacriticInsensitive]) != nil
      }
      guard let device = similar.first else {
        // Drivers open more devices than they list.
        if let driver = driver(of: text), devices.contains(where: { $0.name == driver }) {
          return text
        }
        throw ProgramError(
          "There is no sound device \(text).", remedy: "'refrain play --device list' shows all.")
      }
      if similar.allSatisfy({ $0.description == device.description }) { return device.name }
      let byDriver = Dictionary(grouping: similar) { $0.name.prefix { $0 != "/" } }
      if let only = similar.first(where: { byDriver[$0.name.prefix { $0 != "/" }]?.count == 1 }) {
        return only.name
      }
      let names = similar.map(\.name).joined(separator: ", ")
      throw ProgramError(
        "Several sound devices match \(text): \(names).", remedy: "Choose one by its name.")
    }

    /// Returns the driver of a name such as `alsa/hw:1,0`.
    private static func driver(of text: String) -> String? {
      let parts = text.split(separator: "/", maxSplits: 1)
      return parts.count == 2 ? String(parts[0]) : nil
    }

    /// Prints all devices, for people or for programs.
    static func show(asJSON: Bool) async throws {
      let devices = try await MPVEngine.audioDevices()
      if asJSON { return try Console.shared.print(JSONText.line(devices)) }
      let width = devices.map(\.name.count).max() ?? 0
      for device in devices {
        let name = printable(device.name).padding(toLength: width, withPad: " ", startingAt: 0)
        try Console.shared.print("\(name)  \(printable(device.description))")
      }
    }
  }
#endif
