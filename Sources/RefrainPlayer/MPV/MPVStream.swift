// SPDX-License-Identifier: MIT
#if os(Linux)
  import CMPV
  import Refrain
  import Synchronization

  /// One opened `refrain://` stream: mpv's read, seek and size, answered by a `MediaReader`.
  ///
  /// mpv calls on threads of its own, which may block. One thread at a time reads and seeks; `cancel`
  /// comes from another at any moment and ends the read that waits, and every later one.
  final class MPVStream: Sendable {
    static let scheme = "refrain"

    private let playback: MPVPlayback
    private let reader: MediaReader
    private let position = Atomic<Int64>(0)

    init(of playback: MPVPlayback) throws {
      self.playback = playback
      reader = try playback.openReader()
    }

    /// As read(2): the number of bytes, 0 at the end, -1 on error.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int64 {
      guard !buffer.isEmpty else { return 0 }
      do {
        let offset = position.load(ordering: .relaxed)
        let count = try reader.readBlocking(into: buffer, at: offset)
        position.store(offset + Int64(count), ordering: .relaxed)
        playback.note(nil)
        return Int64(count)
      } catch {
        playback.note(error)
        return -1
      }
    }

    /// The new position. Seeking is only reading elsewhere: no byte is asked for yet.
    func seek(to offset: Int64) -> Int64 {
      guard offset >= 0 else { return Int64(MPV_ERROR_GENERIC.rawValue) }
      position.store(offset, ordering: .relaxed)
      return offset
    }

    /// The length in bytes, which waits for the origin's first answer.
    func size() -> Int64 {
      do {
        if let length = try reader.contentInformationBlocking().length { return length }
        return Int64(MPV_ERROR_UNSUPPORTED.rawValue)
      } catch {
        playback.note(error)
        return Int64(MPV_ERROR_GENERIC.rawValue)
      }
    }

    func cancel() { reader.cancel() }
  }

  extension MPVStream {
    /// Fills mpv's table for this stream. The table holds a reference, which `close_fn` gives back.
    func install(in info: UnsafeMutablePointer<mpv_stream_cb_info>) {
      info.pointee.cookie = Unmanaged.passRetained(self).toOpaque()
      info.pointee.read_fn = { cookie, bytes, count in
        guard let stream = MPVStream.from(cookie), let bytes else { return -1 }
        let buffer = UnsafeMutableRawBufferPointer(
          start: bytes, count: Int(clamping: count))
        return stream.read(into: buffer)
      }
      info.pointee.seek_fn = { cookie, offset in
        MPVStream.from(cookie)?.seek(to: offset) ?? Int64(MPV_ERROR_GENERIC.rawValue)
      }
      info.pointee.size_fn = { cookie in
        MPVStream.from(cookie)?.size() ?? Int64(MPV_ERROR_GENERIC.rawValue)
      }
      info.pointee.cancel_fn = { cookie in MPVStream.from(cookie)?.cancel() }
      info.pointee.close_fn = { cookie in
        guard let cookie else { return }
        let stream = Unmanaged<MPVStream>.fromOpaque(cookie).takeRetainedValue()
        stream.cancel()
      }
    }

    private static func from(_ cookie: UnsafeMutableRawPointer?) -> MPVStream? {
      cookie.map { Unmanaged<MPVStream>.fromOpaque($0).takeUnretainedValue() }
    }
  }
#endif
