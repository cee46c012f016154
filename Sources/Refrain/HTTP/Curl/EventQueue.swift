// SPDX-License-Identifier: MIT
#if os(Linux)
  import CLinuxSystem

  #if canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// Sockets, and a bell, that one thread waits for: epoll(7).
  final class EventQueue: Sendable {
    struct Event {
      var descriptor: Int32
      var isReadable: Bool
      var isWritable: Bool
      var isBroken: Bool
    }

    let bell: EventBell
    private let descriptor: Int32

    /// - Throws: `TransportError` where there are no descriptors left.
    init() throws {
      descriptor = epoll_create1(Int32(EPOLL_CLOEXEC))
      let bell = EventBell()
      guard descriptor >= 0, let bell else {
        let reason = String(cString: strerror(errno))
        if descriptor >= 0 { close(descriptor) }
        throw TransportError(.unreachable, "No request can be sent: \(reason).")
      }
      self.bell = bell
      watch(bell.descriptor, forReading: true, forWriting: false)
    }

    deinit { close(descriptor) }

    /// Neither: it is not waited for any more.
    ///
    /// - Parameter isNew: whether it is not waited for yet, as far as is known.
    func watch(_ socket: Int32, forReading: Bool, forWriting: Bool, isNew: Bool = true) {
      var event = epoll_event()
      if forReading { event.events |= EPOLLIN.rawValue }
      if forWriting { event.events |= EPOLLOUT.rawValue }
      event.data.fd = socket
      guard event.events != 0 else {
        epoll_ctl(descriptor, EPOLL_CTL_DEL, socket, &event)
        return
      }
      // A socket that was closed is not waited for any more either, and its number another's by now.
      let (likely, other) = isNew ? (EPOLL_CTL_ADD, EPOLL_CTL_MOD) : (EPOLL_CTL_MOD, EPOLL_CTL_ADD)
      if epoll_ctl(descriptor, likely, socket, &event) != 0, errno == ENOENT || errno == EEXIST {
        epoll_ctl(descriptor, other, socket, &event)
      }
    }

    /// Waits for the next ones.
    ///
    /// - Parameter milliseconds: how long at most; -1: without end.
    func next(within milliseconds: Int32) -> [Event] {
      withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { events in
        let count = epoll_wait(
          descriptor, events.baseAddress, Int32(events.count), milliseconds)
        return events.prefix(Int(max(count, 0))).map { event in
          Event(
            descriptor: event.data.fd,
            isReadable: event.events & EPOLLIN.rawValue != 0,
            isWritable: event.events & EPOLLOUT.rawValue != 0,
            isBroken: event.events & (EPOLLERR.rawValue | EPOLLHUP.rawValue) != 0)
        }
      }
    }
  }

  /// Wakes the thread that waits: eventfd(2).
  final class EventBell: Sendable {
    let descriptor: Int32

    fileprivate init?() {
      descriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
      guard descriptor >= 0 else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// On any thread.
    func ring() {
      var one: UInt64 = 1
      // It fails only where it has been rung 2^64 times.
      _ = write(descriptor, &one, 8)
    }

    func silence() {
      var count: UInt64 = 0
      _ = read(descriptor, &count, 8)
    }
  }
#endif
