// SPDX-License-Identifier: MIT
#if os(Linux)
  import Dispatch
  import Refrain

  /// The recording of a live stream, and where libmpv reads in it: each loading reads from
  /// another place.
  struct MPVRewinding: Sendable {
    /// Nil: the item is not recorded, or not yet.
    var recording: LiveRecording?
    /// How the recording begins, before any of it was examined; nil: with its first byte.
    var opening: LiveOpening?
    /// Whether the item is no longer in libmpv's list: nothing is recorded of it any more.
    var isForgotten = false
    /// The view of the next stream that libmpv opens.
    var nextView: MPVRecordedView?
    /// The position in the recording at which libmpv's times begin.
    var base = Duration.zero
    /// The position after `base` at which playback begins: within a segment.
    var offset = Duration.zero
    /// Whether the bytes that libmpv reads next were dropped.
    var hasFallenBehind = false
    /// The window and the title reported last.
    var toldWindow: LiveWindow?
    var toldTitle: StreamTitle?

    /// Returns the view for a stream that libmpv opens; nil: nothing is recorded yet.
    mutating func takeView() -> MPVRecordedView? {
      defer { (nextView, hasFallenBehind) = (nil, false) }
      if let nextView { return nextView }
      guard let recording else { return nil }
      base = .zero
      return MPVRecordedView(recording: recording, opening: opening)
    }

    /// Records where the playlists of a recorded stream begin, and where playback begins in them.
    mutating func noteStart(_ start: Duration, playingFrom position: Duration) {
      (base, offset) = (start, max(.zero, position - start))
    }

    /// Records that a window is to be reported. Returns whether it differs from the last one by
    /// half a second.
    mutating func isNews(_ window: LiveWindow) -> Bool {
      let step = Duration.milliseconds(500)
      if let told = toldWindow, window.end - told.end < step, window.start - told.start < step {
        return false
      }
      toldWindow = window
      return true
    }
  }

  /// The bytes of a recording from a place on, behind the header that a decoder needs. A
  /// pure value.
  struct MPVRecordedView: Sendable {
    let recording: LiveRecording
    var header: [UInt8] = []
    /// The byte of the recording that follows the header.
    var offset: Int64 = 0
    /// Finds the first frame of a stream; nil: the view begins with one, or as it is.
    var opening: LiveOpening?

    /// Returns the byte of the recording to read for a position of the view.
    func recordedOffset(of position: Int64) -> Int64 {
      offset + position - Int64(header.count) + (opening?.length ?? 0)
    }

    /// Examines the next bytes, none at the end, and begins with the first frame once it is found.
    mutating func look(at bytes: UnsafeRawBufferPointer) {
      opening?.take(bytes)
      guard let start = opening?.start else { return }
      offset += start
      opening = nil
    }

    /// Copies the part of the header at a position of the view; nil: there is none.
    func readHeader(into buffer: UnsafeMutableRawBufferPointer, at position: Int64) -> Int? {
      guard position < Int64(header.count) else { return nil }
      let part = header[Int(position)...].prefix(buffer.count)
      buffer.copyBytes(from: part)
      return part.count
    }
  }

  extension MPVPlayback {
    var recording: LiveRecording? { withRewinding { $0.recording } }

    /// The recorded part of a live stream; nil while there is none.
    var liveWindow: LiveWindow? { recording?.window ?? item.recordedStream?.window() }

    /// Whether one can seek in the item although it is live.
    var canRewind: Bool { liveWindow != nil }

    /// Starts recording the stream of a reader of which nothing was read. Returns nil if there is
    /// no room for that: the stream plays without. Blocks for the disk.
    ///
    /// - Throws: `CancellationError` after `stopRecording()`.
    func record(_ reader: MediaReader, keeping rewind: Duration) throws -> MPVRecordedView? {
      let recording: LiveRecording
      do {
        recording = LiveRecording(
          reader, keeping: rewind, in: try cache.makeScratchFile()
        ) { [weak self] in
          guard let self else { return }
          absence = self.recording?.absence
          noteChange()
        }
        try waiting { try await recording.prepare() }
      } catch {
        cache.report(warning: "The live sound is not recorded, and does not rewind: \(error)")
        return nil
      }
      // Known, as is that the stream is live.
      let opening = LiveOpening(mimeType: try? reader.contentInformationBlocking().mimeType)
      let isWanted = withRewinding { rewinding in
        if !rewinding.isForgotten {
          (rewinding.recording, rewinding.opening) = (recording, opening)
        }
        return !rewinding.isForgotten
      }
      guard isWanted else {
        recording.cancel()
        throw CancellationError()
      }
      recording.start { [weak self] old in
        guard let self, let resource = item.media.resource else { throw CancellationError() }
        let fresh = try await cache.open(resource, fill: item.fill)
        replace(old, by: fresh)
        return fresh
      }
      return MPVRecordedView(recording: recording, opening: opening)
    }

    /// Lets a stream whose next bytes were dropped go on where the recording begins. For a recording
    /// in which no place to begin is left.
    func skipDroppedBytes() {
      let isBehind = withRewinding { rewinding in
        defer { rewinding.hasFallenBehind = false }
        return rewinding.hasFallenBehind
      }
      if isBehind { lookAgain() }
    }

    /// Ends the recording, until libmpv gets the item again. What it still reads of it fails.
    func stopRecording() {
      let recording = withRewinding { rewinding in
        defer { (rewinding.recording, rewinding.isForgotten) = (nil, true) }
        return rewinding.recording
      }
      recording?.cancel()
    }
  }

  /// Live streams that are recorded: a seek loads the item again, from another place.
  extension MPVLoop {
    /// Seeks in a recorded live stream. Returns false if the item is none.
    func rewind(_ playback: MPVPlayback, to position: Duration) -> Bool {
      if let stream = playback.item.recordedStream {
        guard let window = stream.window() else { return false }
        let position = window.nearest(to: position)
        guard let start = stream.begin(position) else { return false }
        playback.withRewinding { $0.noteStart(start, playingFrom: position) }
      } else {
        guard let recording = playback.recording, let place = recording.place(at: position) else {
          return false
        }
        playback.withRewinding { rewinding in
          rewinding.nextView = MPVRecordedView(
            recording: recording, header: place.header, offset: place.point.offset)
          rewinding.base = place.point.time
          rewinding.hasFallenBehind = false
        }
      }
      loadAgain(playback)
      return true
    }

    /// Reports the recorded part of a live HLS stream, and whether its origin can be reached. One
    /// that has fallen behind goes on by itself, at the beginning of the playlists.
    private func look(at stream: RecordedStream, of playback: MPVPlayback) {
      guard playback.isHeard, let window = stream.window() else { return }
      playback.absence = stream.failure()
      guard noteLive(playback), playback.withRewinding({ $0.isNews(window) }) else { return }
      tell(.liveWindow(playback.item.id, window))
    }

    /// Reports the recorded part of a live stream that is about to be ready: its titles are then
    /// those of the recording.
    func tellRecordedPart(of playback: MPVPlayback) {
      guard let window = playback.recording?.window,
        playback.withRewinding({ $0.isNews(window) })
      else { return }
      tell(.liveWindow(playback.item.id, window))
    }

    /// Reports the recorded part of a live stream and the title of what is heard, and goes on at
    /// the earliest sound if playback has fallen behind it.
    func lookAtRecording() {
      guard let playback = playing.current else { return }
      if let stream = playback.item.recordedStream { return look(at: stream, of: playback) }
      guard let recording = playback.recording else { return }
      guard let window = recording.window else { return playback.skipDroppedBytes() }
      if playback.withRewinding({ $0.hasFallenBehind }), !clock.isSeeking {
        let place = window.start + LiveWindow.lead
        if !playback.isHeard {
          // As if it began there.
          _ = rewind(playback, to: place)
          return
        }
        // As a seek: one that the listener makes until the item has begun again follows it.
        if !isPaused { return seek(MPVClock.Seek(position: place, serial: MPVClock.Seek.own)) }
      }
      guard playback.isHeard else { return }
      let id = playback.item.id
      tellRecordedPart(of: playback)
      guard !clock.isSeeking, let title = recording.title(at: position) else { return }
      let isNewTitle = playback.withRewinding { rewinding in
        defer { rewinding.toldTitle = title }
        return rewinding.toldTitle != title
      }
      if isNewTitle { tell(.streamTitle(id, title)) }
    }
  }
#endif
