// SPDX-License-Identifier: MIT
#if os(Linux)
  import Glibc
  import Testing

  @testable import RefrainPlayer

  /// What the bus's thread takes from the main actor.
  struct MPRISMailboxTests {
    @Test func `A jump is announced once, also if other changes follow`() throws {
      let state = MPRISState.sample()
      let mailbox = try #require(MPRISMailbox(state))
      mailbox.publish(state, jump: 5)
      mailbox.publish(state)
      #expect(mailbox.take().jump == 5)
      #expect(mailbox.take().jump == nil)
    }

    @Test func `A jump of the previous item is not announced for the next one`() throws {
      var state = MPRISState.sample()
      let mailbox = try #require(MPRISMailbox(state))
      mailbox.publish(state, jump: 5)
      state.player.queue.advance(.asked)
      mailbox.publish(state)
      #expect(mailbox.take().jump == nil)
      mailbox.publish(state, jump: 5)
      state.player.queue.advance(.asked)
      mailbox.publish(state, jump: 7)
      #expect(mailbox.take().jump == 7)
    }

    @Test func `A jump before a stop is not announced`() throws {
      var state = MPRISState.sample()
      let mailbox = try #require(MPRISMailbox(state))
      mailbox.publish(state, jump: 5)
      (state.player.status, state.player.wantsToPlay) = (.idle, false)
      mailbox.publish(state)
      #expect(mailbox.take().jump == nil)
    }

    @Test func `Taking the state ends the wake-up by a change`() throws {
      let state = MPRISState.sample()
      let mailbox = try #require(MPRISMailbox(state))
      #expect(!isAwake(mailbox))
      mailbox.publish(state)
      #expect(isAwake(mailbox))
      _ = mailbox.take()
      #expect(!isAwake(mailbox))
    }

    @Test func `Taking the state does not lose the wake-up by closing`() throws {
      let mailbox = try #require(MPRISMailbox(MPRISState.sample()))
      // The thread asks whether to end, takes the state, and then waits for the descriptor.
      #expect(!mailbox.isClosing)
      mailbox.close()
      _ = mailbox.take()
      #expect(isAwake(mailbox))
    }

    /// Whether the bus's thread would not wait now.
    private func isAwake(_ mailbox: MPRISMailbox) -> Bool {
      var descriptor = pollfd(fd: mailbox.descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&descriptor, 1, 0) == 1
    }
  }
#endif
