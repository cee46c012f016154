// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Foundation
  import Refrain

  /// What was reported last of the current item's tracks and pictures, and the listener's settings
  /// as libmpv knows them. A pure value.
  struct MPVShown {
    var item: EngineItem.ID?
    var tracks: MediaTracks?
    var video: VideoStatus?
    /// The selected tracks, as the engine knows them; nil until the item is heard.
    private(set) var selected: Set<MediaTrack.ID>?
    /// The selected tracks of an item that is being loaded again; nil: the item is not.
    private(set) var kept: Set<MediaTrack.ID>?
    /// Whether video is shown, where there is any.
    var showsVideo = true
    /// The languages of the tracks to select.
    var languages = TrackLanguages()
    /// Whether the controller in the window is loaded.
    var hasController = false
    /// Whether the window fills the screen; nil: none is open.
    var isFullscreen: Bool?
    var volume = 100.0
    var isMuted = false
    private var lastLook: ContinuousClock.Instant?

    mutating func begin(_ item: EngineItem.ID) {
      guard self.item != item else { return }
      (self.item, tracks, video, selected, kept, lastLook) = (item, nil, nil, nil, nil, nil)
    }

    /// Records that the item is loaded again, with the tracks that are selected now.
    mutating func beginAgain() { (kept, selected) = (selected ?? kept, nil) }

    /// Records that the item is heard, with these tracks.
    mutating func hear(_ tracks: Set<MediaTrack.ID>?) { (selected, kept) = (tracks, nil) }

    /// Records that the engine selected a track; nil: none of the kind.
    mutating func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
      func changed(_ tracks: Set<MediaTrack.ID>) -> Set<MediaTrack.ID> {
        tracks.filter { $0.kind != kind }.union(track.map { [$0] } ?? [])
      }
      (selected, kept) = (selected.map(changed), kept.map(changed))
    }

    /// Returns the value of the option that selects the track of a kind with which a file begins.
    func option(for kind: MediaTrack.Kind) -> String {
      guard let kept else { return "auto" }
      if let track = kept.first(where: { $0.kind == kind }) { return "\(track.number)" }
      // libmpv does not play an item of which nothing is selected.
      return kind == .audio && !kept.contains { $0.kind == .video } ? "auto" : "no"
    }

    /// Returns the value of the option that selects the subtitle with which a file begins. libmpv
    /// itself does not know the languages of external subtitles.
    ///
    /// - Parameter given: the tracks among which the listener's language decides.
    func subtitleOption(given: [MediaTrack]) -> String {
      guard kept == nil, let language = languages.subtitle,
        let track = TrackLanguages.track(in: language, among: given)
      else { return option(for: .subtitle) }
      return "\(track.id.number)"
    }

    /// Returns whether the status of the video is due: twice a second at most.
    mutating func isDue(_ now: ContinuousClock.Instant) -> Bool {
      if let lastLook, now - lastLook < .milliseconds(500) { return false }
      lastLook = now
      return true
    }
  }

  /// Tracks, pictures, and the window.
  extension MPVLoop {
    var playsVideo: Bool { video.output != .none }

    /// Sets the names that others see, and the options for video; those that libmpv lacks are left out if they may be.
    static func setVideo(
      _ video: VideoConfiguration, of handle: OpaquePointer, _ mpv: MPVFunctions
    ) throws {
      for (name, value) in MPVVideoOptions.names(video) {
        try mpv.check(mpv.set_option_string(handle, name, value), "set \(name)=\(value)")
      }
      guard video.output != .none else { return }
      for (name, value) in MPVVideoOptions.all(video) {
        try mpv.check(mpv.set_option_string(handle, name, value), "set \(name)=\(value)")
      }
      let display = Display.first
      for (name, value) in MPVVideoOptions.optional(video, on: display) {
        _ = mpv.set_option_string(handle, name, value)
      }
      let outputs = MPVOutputs(on: display)
      _ = outputs.contexts.contains { mpv.set_option_string(handle, "gpu-context", $0) >= 0 }
      let isSet = outputs.lists.contains { mpv.set_option_string(handle, "vo", $0) >= 0 }
      try mpv.check(isSet ? 0 : MPV_ERROR_VO_INIT_FAILED.rawValue, "select a video output")
    }

    /// Receives the window's keys.
    func bindKeys() {
      guard case .window = video.output else { return }
      command("define-section", MPVWindowKeys.message, MPVWindowKeys.section, "force")
      command("enable-section", MPVWindowKeys.message)
    }

    /// Whether the engine has to know the changes of a property, with the output that it has.
    func isOfUse(_ property: MPVProperty) -> Bool {
      property.isOfWindow ? video.output == .window : playsVideo || !property.isOfListener
    }

    /// Reports whether a window is open and fills the screen, if that has changed. libmpv keeps the
    /// setting for its next window.
    func tellWindow() {
      let isOpen = number(MPVProperty.hasWindow.rawValue) == 1
      let now: Bool? = isOpen ? number(MPVProperty.isFullscreen.rawValue) == 1 : nil
      guard now != shown.isFullscreen else { return }
      shown.isFullscreen = now
      tell(.fullscreen(now))
    }

    /// Reports that libmpv has ended by itself, and its window with it: the controller closed it.
    func tellEnd() {
      if shown.isFullscreen != nil { tell(.fullscreen(nil)) }
      shown.isFullscreen = nil
      tell(.window(.closeRequested))
    }

    /// Runs a command whose effect is shown in the window, if there is one.
    @discardableResult
    func showing(_ words: String...) -> Bool {
      command(words: (playsVideo ? ["osd-auto"] : []) + words)
    }

    // MARK: Tracks

    /// Sets the selection with which the file that is being opened begins: libmpv would keep that
    /// of the previous one. An item that is loaded again for a seek keeps its own.
    func beginTracks(of playback: MPVPlayback) {
      shown.begin(playback.item.id)
      set("aid", shown.option(for: .audio))
      let media = playback.item.media
      let hasTitle = text("metadata/by-key/title")?.isEmpty == false
      if let title = media.title ?? (hasTitle ? nil : media.url.lastPathComponent) {
        set("file-local-options/force-media-title", title)
      }
      guard playsVideo else { return }
      let tracks = currentTracks ?? MediaTracks()
      let given = tracks.candidates(among: playing.currentSubtitles, opened: externalFiles)
      set("sid", shown.subtitleOption(given: given))
      set("vid", shown.showsVideo || tracks.tracks(of: .audio).isEmpty ? "auto" : "no")
    }

    func select(_ track: MediaTrack.ID?, of kind: MediaTrack.Kind) {
      // For sound alone, only sound is decoded.
      guard playsVideo || kind == .audio, track.map({ $0.kind == kind }) ?? true else { return }
      guard track != nil || currentTracks?.plays(without: kind) == true else {
        // libmpv would end the item.
        shown.tracks = nil
        if let playback = playing.current { tellTracks(of: playback) }
        return
      }
      shown.select(track, of: kind)
      showing("set", kind.property, track.map { "\($0.number)" } ?? "no")
    }

    func showVideo(_ showsVideo: Bool) {
      shown.showsVideo = showsVideo
      guard playsVideo, playing.current != nil else { return }
      guard showsVideo || currentTracks?.plays(without: .video) == true else { return }
      set("vid", showsVideo ? "auto" : "no")
    }

    private var currentTracks: MediaTracks? {
      let subtitles = playing.currentSubtitles
      return trackList { MediaTracks($0).named(after: subtitles, opened: $0.externalFiles) }
    }

    /// The addresses of the current item's external tracks.
    var externalFiles: [MediaTrack.ID: String] { trackList { $0.externalFiles } ?? [:] }

    private func trackList<Value>(_ read: (mpv_node) -> Value) -> Value? {
      var node = mpv_node()
      let name = MPVProperty.tracks.rawValue
      guard mpv.get_property(handle, name, MPV_FORMAT_NODE, &node) >= 0 else { return nil }
      defer { mpv.free_node_contents(&node) }
      return read(node)
    }

    /// Reports the tracks of the current item if they have changed. While it is loaded again, it
    /// has none for a moment.
    func tellTracks(of playback: MPVPlayback) {
      guard shown.item == playback.item.id, shown.kept == nil, let tracks = currentTracks,
        tracks != shown.tracks
      else { return }
      shown.tracks = tracks
      tell(.tracks(playback.item.id, tracks))
      tellVideo(of: playback)
    }

    /// Reports what is shown, and what could not be, when an item begins.
    func tellShown(of playback: MPVPlayback) {
      hearTracks(of: playback)
      tellVideo(of: playback)
      tellFailedSubtitles(of: playback)
      guard playsVideo, shown.showsVideo, shown.tracks?.hasVideo == true,
        text("current-vo") == nil
      else { return }
      tell(.videoUnavailable)
    }

    /// Records and reports the tracks with which an item plays.
    func hearTracks(of playback: MPVPlayback) {
      shown.hear(currentTracks?.selected)
      tellTracks(of: playback)
    }

    // MARK: Pictures

    /// Reports the video of the current item if it has changed, from time to time.
    func lookAtVideo() {
      guard playsVideo, let playback = playing.current, shown.isDue(.now) else { return }
      tellVideo(of: playback)
    }

    func tellVideo(of playback: MPVPlayback) {
      guard playsVideo, playback.isHeard, shown.item == playback.item.id else { return }
      let video = currentVideo
      guard video != shown.video else { return }
      shown.video = video
      if video != nil { loadController() }
      tell(.video(playback.item.id, video))
    }

    /// Loads the controller in the window, a script, if it is wanted. libmpv opens no file before
    /// the scripts that it starts with are loaded: the first picture would come later.
    private func loadController() {
      guard video.hasController, !shown.hasController else { return }
      shown.hasController = true
      set("osc", "yes")
    }

    private var currentVideo: VideoStatus? {
      guard text("current-vo") != nil, let width = number("dwidth"), let height = number("dheight"),
        width > 0, height > 0, width < 1e6, height < 1e6
      else { return nil }
      let dropped = (number("frame-drop-count") ?? 0) + (number("decoder-frame-drop-count") ?? 0)
      let decoder = text("hwdec-current").flatMap { $0.isEmpty || $0 == "no" ? nil : $0 }
      return VideoStatus(
        width: Int(width), height: Int(height), codec: text("video-format"),
        frameRate: number("container-fps"), hardwareDecoder: decoder,
        droppedFrames: Int(max(0, min(dropped, 1e9))))
    }

    // MARK: The controller in the window

    /// Handles a message of the window's keys.
    func take(_ message: mpv_event_client_message) {
      if let event = MPVWindowKeys.event(message.words) { tell(.window(event)) }
    }

    /// Reports a change that the listener made by the controller. Values are read again: an event
    /// may be older than the engine's last request.
    func noteListener(_ property: MPVProperty) {
      switch property {
      case .isPaused:
        guard let now = number(property.rawValue).map({ $0 != 0 }), now != isPaused else { return }
        isPaused = now
        tell(.requested(now ? .pause : .resume))
      case .volume:
        guard let now = number(property.rawValue), abs(now - shown.volume) > 0.01 else { return }
        shown.volume = now
        tell(.requested(.volume(min(1, max(0, now / 100)))))
      case .isMuted:
        guard let now = number(property.rawValue).map({ $0 != 0 }), now != shown.isMuted else {
          return
        }
        shown.isMuted = now
        tell(.requested(.mute(now)))
      default: break
      }
    }

    /// Reports tracks that the listener selected by the controller: all that the engine did not,
    /// among the tracks that were reported last.
    func noteSelection(of playback: MPVPlayback) {
      guard playsVideo, shown.item == playback.item.id, let tracks = shown.tracks,
        !tracks.all.isEmpty
      else { return }
      for kind in [MediaTrack.Kind.audio, .subtitle] {
        let now = tracks.selected(kind)?.id
        guard let selected = shown.selected, now != selected.first(where: { $0.kind == kind })
        else { continue }
        shown.select(now, of: kind)
        // Also libmpv turns sound off, if it cannot be decoded.
        if now != nil || kind != .audio { tell(.requested(.select(now, kind))) }
      }
    }
  }
#endif
