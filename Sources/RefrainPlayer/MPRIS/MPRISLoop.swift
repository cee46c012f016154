// SPDX-License-Identifier: MIT
#if os(Linux)
  import CSDBus
  import Dispatch
  import Foundation
  import Glibc
  import RefrainLocks

  /// The thread of the bus: makes all calls to sd-bus, and waits for messages and for the mailbox.
  ///
  /// Not Sendable: an instance never leaves its thread. Where anything goes wrong with the bus, the
  /// thread ends, and nothing is reported: playing does not depend on it.
  final class MPRISLoop {
    /// The thread's calls to the main actor.
    struct Owner: Sendable {
      /// Performs a call, and returns the answer. Waits for the main actor.
      var perform: @Sendable (MPRISCall) -> MPRISAnswer
      /// Called when the player has its name on the bus.
      var isConnected: @Sendable () -> Void
    }

    let sd: BusFunctions
    let bus: OpaquePointer
    let mailbox: MPRISMailbox
    let owner: Owner
    private var names: BusNames
    private var announced: MPRISState
    private var hasFailed = false

    /// Starts the thread, which connects and then serves.
    static func start(
      address: String, name: String, library: String = SystemdLibrary.name,
      mailbox: MPRISMailbox, owner: Owner
    ) {
      let thread = Thread {
        if let sd = SystemdLibrary.load(library),
          let loop = MPRISLoop(sd, address, BusNames(name), mailbox, owner)
        {
          loop.run()
        }
        mailbox.end()
      }
      thread.name = "refrain.mpris"
      thread.start()
    }

    private init?(
      _ sd: BusFunctions, _ address: String, _ names: BusNames, _ mailbox: MPRISMailbox,
      _ owner: Owner
    ) {
      var created: OpaquePointer?
      guard sd.new_(&created) >= 0, let bus = created else { return nil }
      (self.sd, self.bus, self.names, self.mailbox, self.owner) = (sd, bus, names, mailbox, owner)
      announced = mailbox.state
      // The bus of a session lets only its user in, so every caller may call.
      guard sd.set_address(bus, address) >= 0, sd.set_bus_client(bus, 1) >= 0,
        sd.set_trusted(bus, 1) >= 0, sd.start(bus) >= 0
      else {
        _ = sd.unref(bus)
        return nil
      }
    }

    private func run() {
      defer {
        sd.close(bus)
        _ = sd.unref(bus)
      }
      do {
        try offer()
        try requestName()
        while !mailbox.isClosing, !hasFailed {
          announce()
          if try !work() { try wait() }
        }
      } catch {
        // The bus is gone.
      }
    }

    /// Handles some messages, not all: changes are announced even if messages never end. Returns
    /// whether there may be more.
    private func work() throws -> Bool {
      for _ in 0..<64 {
        guard try check(sd.process(bus, nil)) > 0 else { return false }
        if mailbox.isClosing { return true }
      }
      return true
    }

    private func wait() throws {
      let events = Int16(truncatingIfNeeded: try check(sd.get_events(bus)))
      var descriptors = [
        pollfd(fd: try check(sd.get_fd(bus)), events: events, revents: 0),
        pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&descriptors, 2, try pollTimeout()) >= 0 || errno == EINTR else {
        throw BusError(number: -errno)
      }
    }

    /// Returns the milliseconds until sd-bus has something to do; negative: without a limit.
    private func pollTimeout() throws -> CInt {
      var end: UInt64 = 0
      try check(sd.get_timeout(bus, &end))
      guard end != .max else { return -1 }
      // Of the same clock, CLOCK_MONOTONIC.
      let now = DispatchTime.now().uptimeNanoseconds / 1000
      return end > now ? CInt(min((end - now) / 1000 + 1, 60_000)) : 0
    }

    // MARK: Offering the player

    /// One description for all connections of the process.
    private static let tables = Mutex<BusTables?>(nil)

    private func offer() throws {
      let tables = Self.tables.withLock { tables in
        let made =
          tables
          ?? BusTables(
            format: sd.object_vtable_format, method: takeCall, get: readProperty,
            set: takeProperty)
        tables = made
        return made
      }
      let this = Unmanaged.passUnretained(self).toOpaque()
      for interface in MPRISInterface.allCases {
        guard let table = tables[interface] else { continue }
        try check(
          sd.add_object_vtable(bus, nil, MPRISInterface.path, interface.rawValue, table, this))
      }
    }

    private func requestName() throws {
      guard let name = names.next() else { throw BusError(number: -EEXIST) }
      let this = Unmanaged.passUnretained(self).toOpaque()
      // Neither queued for the name, nor in place of its owner.
      try check(sd.request_name_async(bus, nil, name, 0, takeNameReply, this))
    }

    /// Takes the bus's answer to the request for a name.
    func takeName(_ reply: BusMessage) {
      guard sd.message_get_error(reply.pointer) == nil,
        let result = try? reply.readNumber()
      else {
        hasFailed = true
        return
      }
      // 1: it is ours; 3: another one has it.
      if result == 1 { return owner.isConnected() }
      do { try requestName() } catch { hasFailed = true }
    }

    // MARK: Signals

    private func announce() {
      let (state, jump) = mailbox.take()
      let signals = state.signals(since: announced) + (jump.map { [.seeked($0)] } ?? [])
      announced = state
      for signal in signals {
        do {
          try send(signal)
        } catch {
          if (error as? BusError)?.isOfConnection == true {
            hasFailed = true
            return
          }
          // Clients keep the previous value until the next change. The others are still sent.
        }
      }
    }

    private func send(_ signal: MPRISSignal) throws {
      switch signal {
      case .changed(let interface, let properties):
        var names = properties.map { strdup($0.rawValue) } + [nil]
        defer { for name in names { free(name) } }
        try check(
          sd.emit_properties_changed_strv(bus, MPRISInterface.path, interface.rawValue, &names))
      case .seeked(let position): try send(.seeked, [.int64(position)])
      case .tracksReplaced(let tracks, let current):
        try send(.trackListReplaced, [.paths(tracks), .path(current)])
      case .trackAdded(let metadata, let track):
        try send(.trackAdded, [.map(metadata), .path(track)])
      case .trackRemoved(let track): try send(.trackRemoved, [.path(track)])
      case .trackMetadataChanged(let track, let metadata):
        try send(.trackMetadataChanged, [.path(track), .map(metadata)])
      }
    }

    private func send(_ name: MPRISSignalName, _ values: [DBusValue]) throws {
      var created: OpaquePointer?
      try check(
        sd.message_new_signal(
          bus, &created, MPRISInterface.path, name.interface.rawValue, name.rawValue))
      guard let signal = created else { return }
      defer { _ = sd.message_unref(signal) }
      for value in values { try BusMessage(sd: sd, pointer: signal).append(value) }
      try check(sd.send(bus, signal, nil))
    }
  }
#endif
