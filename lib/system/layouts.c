/*
 * What programs have compiled into them: sizes of public structures and places of their members.
 * Another value is another soname; see CONTRIBUTING.md. lib/gyre.inline lists what headers inline.
 *
 * Written by scripts/check_abi.py --keep, which also compares it with the headers. Structures that
 * are FROZEN keep their size, those that GROW may get members at their ends.
 */
#include <gyre/gyre.h>

#include <stddef.h>

#define FROZEN(NAME, BYTES) \
	_Static_assert(sizeof(struct NAME) == (BYTES), "struct " #NAME " has another size")
#define GROWS(NAME, BYTES) \
	_Static_assert(sizeof(struct NAME) >= (BYTES), "struct " #NAME " has lost members")
#define AT(NAME, MEMBER, OFFSET, BYTES)                                          \
	_Static_assert(offsetof(struct NAME, MEMBER) == (OFFSET) &&              \
			       sizeof(((struct NAME *)NULL)->MEMBER) == (BYTES), \
		       #MEMBER " of struct " #NAME " was moved or has another size")

GROWS(gyre_acceptor_options, 192);
AT(gyre_acceptor_options, bind, 0, 8);
AT(gyre_acceptor_options, init_channel, 8, 8);
AT(gyre_acceptor_options, init_arg, 16, 8);
AT(gyre_acceptor_options, actor_class, 24, 8);
AT(gyre_acceptor_options, bond, 32, 4);
AT(gyre_acceptor_options, channel, 40, 80);
AT(gyre_acceptor_options, backlog, 120, 4);
AT(gyre_acceptor_options, listeners, 124, 4);
AT(gyre_acceptor_options, mode, 128, 4);
AT(gyre_acceptor_options, connections_max, 132, 4);
AT(gyre_acceptor_options, loop_connections_max, 136, 4);
AT(gyre_acceptor_options, accept_rate, 140, 4);
AT(gyre_acceptor_options, wait_ns, 144, 8);
AT(gyre_acceptor_options, refuse, 152, 1);
AT(gyre_acceptor_options, report, 160, 8);
AT(gyre_acceptor_options, report_arg, 168, 8);
AT(gyre_acceptor_options, ret_port, 176, 8);
AT(gyre_acceptor_options, ret_address, 184, 8);

FROZEN(gyre_address, 16);
AT(gyre_address, slot, 0, 4);
AT(gyre_address, cookie, 4, 4);
AT(gyre_address, loop, 8, 2);
AT(gyre_address, node, 10, 2);
AT(gyre_address, life, 12, 4);

FROZEN(gyre_arguments, 16);
AT(gyre_arguments, argc, 0, 4);
AT(gyre_arguments, argv, 8, 8);

FROZEN(gyre_behaviour, 80);
AT(gyre_behaviour, notice, 0, 8);
AT(gyre_behaviour, ask, 8, 8);
AT(gyre_behaviour, event, 16, 8);
AT(gyre_behaviour, notice_batch, 24, 8);
AT(gyre_behaviour, ask_batch, 32, 8);
AT(gyre_behaviour, notice_routes, 40, 8);
AT(gyre_behaviour, ask_routes, 48, 8);
AT(gyre_behaviour, event_routes, 56, 8);
AT(gyre_behaviour, reserved, 64, 16);

FROZEN(gyre_channel_attached, 16);
AT(gyre_channel_attached, channel, 0, 8);
AT(gyre_channel_attached, arg, 8, 8);

FROZEN(gyre_channel_options, 80);
AT(gyre_channel_options, allow_half_close, 0, 1);
AT(gyre_channel_options, keep_reading, 1, 1);
AT(gyre_channel_options, manual_read, 2, 1);
AT(gyre_channel_options, no_linger, 3, 1);
AT(gyre_channel_options, allow_delay, 4, 1);
AT(gyre_channel_options, handshake_ns, 8, 8);
AT(gyre_channel_options, keep_alive_ns, 16, 8);
AT(gyre_channel_options, write_low_bytes, 24, 4);
AT(gyre_channel_options, write_high_bytes, 28, 4);
AT(gyre_channel_options, write_max_bytes, 32, 4);
AT(gyre_channel_options, receive_buffer_bytes, 36, 4);
AT(gyre_channel_options, send_buffer_bytes, 40, 4);
AT(gyre_channel_options, reserved, 48, 32);

GROWS(gyre_class, 304);
AT(gyre_class, name, 0, 8);
AT(gyre_class, state_bytes, 8, 8);
AT(gyre_class, frame_bytes, 16, 8);
AT(gyre_class, behaviour, 24, 80);
AT(gyre_class, mount, 104, 8);
AT(gyre_class, clean, 112, 8);
AT(gyre_class, frame_clean, 120, 8);
AT(gyre_class, barrier, 128, 8);
AT(gyre_class, batch_notices, 136, 8);
AT(gyre_class, batch_asks, 144, 8);
AT(gyre_class, urgent, 152, 8);
AT(gyre_class, stash_max, 160, 4);
AT(gyre_class, batch_max, 164, 4);
AT(gyre_class, mailbox_limit, 168, 4);
AT(gyre_class, overflow, 172, 4);
AT(gyre_class, mailbox_high, 176, 4);
AT(gyre_class, mailbox_low, 180, 4);
AT(gyre_class, strategy, 184, 4);
AT(gyre_class, before_restart, 192, 8);
AT(gyre_class, restart, 200, 8);
AT(gyre_class, after_restart, 208, 8);
AT(gyre_class, restarts_max, 216, 4);
AT(gyre_class, restart_window_ns, 224, 8);
AT(gyre_class, restart_delay_ns, 232, 8);
AT(gyre_class, keep_children, 240, 1);
AT(gyre_class, supervision, 248, 56);

GROWS(gyre_class_snapshot, 328);
AT(gyre_class_snapshot, name, 0, 48);
AT(gyre_class_snapshot, actors, 48, 8);
AT(gyre_class_snapshot, handled, 56, 8);
AT(gyre_class_snapshot, dropped, 64, 256);
AT(gyre_class_snapshot, busy_ns, 320, 8);

GROWS(gyre_connect_options, 256);
AT(gyre_connect_options, to, 0, 8);
AT(gyre_connect_options, local, 8, 8);
AT(gyre_connect_options, init_channel, 16, 8);
AT(gyre_connect_options, init_arg, 24, 8);
AT(gyre_connect_options, actor_class, 32, 8);
AT(gyre_connect_options, bond, 40, 4);
AT(gyre_connect_options, channel, 48, 80);
AT(gyre_connect_options, connections, 128, 4);
AT(gyre_connect_options, connect_timeout_ns, 136, 8);
AT(gyre_connect_options, retries_max, 144, 4);
AT(gyre_connect_options, retry_min_ns, 152, 8);
AT(gyre_connect_options, retry_max_ns, 160, 8);
AT(gyre_connect_options, retry_percent, 168, 4);
AT(gyre_connect_options, retry_jitter_percent, 172, 4);
AT(gyre_connect_options, name_servers, 176, 8);
AT(gyre_connect_options, report, 184, 8);
AT(gyre_connect_options, report_arg, 192, 8);
AT(gyre_connect_options, owner, 200, 16);
AT(gyre_connect_options, place, 216, 40);

FROZEN(gyre_connected, 176);
AT(gyre_connected, channel, 0, 16);
AT(gyre_connected, actor, 16, 16);
AT(gyre_connected, connection, 32, 4);
AT(gyre_connected, peer, 40, 136);

FROZEN(gyre_connection, 176);
AT(gyre_connection, step, 0, 4);
AT(gyre_connection, reason, 4, 4);
AT(gyre_connection, connection, 8, 4);
AT(gyre_connection, failures, 12, 4);
AT(gyre_connection, pause_ns, 16, 8);
AT(gyre_connection, address, 24, 136);
AT(gyre_connection, channel, 160, 16);

GROWS(gyre_counters, 656);
AT(gyre_counters, sent, 0, 8);
AT(gyre_counters, handled, 8, 8);
AT(gyre_counters, dropped, 16, 256);
AT(gyre_counters, to_nodes, 272, 8);
AT(gyre_counters, failed, 280, 8);
AT(gyre_counters, restarted, 288, 8);
AT(gyre_counters, spawned, 296, 8);
AT(gyre_counters, stopped, 304, 8);
AT(gyre_counters, turns, 312, 8);
AT(gyre_counters, parks, 320, 8);
AT(gyre_counters, wakes, 328, 8);
AT(gyre_counters, chains, 336, 8);
AT(gyre_counters, published, 344, 8);
AT(gyre_counters, stolen, 352, 8);
AT(gyre_counters, enters, 360, 8);
AT(gyre_counters, accepted, 368, 8);
AT(gyre_counters, connected, 376, 8);
AT(gyre_counters, closed, 384, 8);
AT(gyre_counters, bytes_received, 392, 8);
AT(gyre_counters, bytes_sent, 400, 8);
AT(gyre_counters, reads, 408, 8);
AT(gyre_counters, buffer_stalls, 416, 8);
AT(gyre_counters, accept_stalls, 424, 8);
AT(gyre_counters, handshake_timeouts, 432, 8);
AT(gyre_counters, idle_closed, 440, 8);
AT(gyre_counters, write_max_closed, 448, 8);
AT(gyre_counters, linger_timeouts, 456, 8);
AT(gyre_counters, zero_copy_sends, 464, 8);
AT(gyre_counters, zero_copies_copied, 472, 8);
AT(gyre_counters, accepts_held, 480, 8);
AT(gyre_counters, refused_full, 488, 8);
AT(gyre_counters, refused_rate, 496, 8);
AT(gyre_counters, refused_report, 504, 8);
AT(gyre_counters, links_refused, 512, 8);
AT(gyre_counters, busy_periods, 520, 8);
AT(gyre_counters, accepts_paused, 528, 8);
AT(gyre_counters, reads_paused, 536, 8);
AT(gyre_counters, held_periods, 544, 8);
AT(gyre_counters, held_reads_paused, 552, 8);
AT(gyre_counters, held_refused, 560, 8);
AT(gyre_counters, held_closed, 568, 8);
AT(gyre_counters, notices_delayed, 576, 8);
AT(gyre_counters, datagrams_sent, 584, 8);
AT(gyre_counters, datagrams_failed, 592, 8);
AT(gyre_counters, datagrams_truncated, 600, 8);
AT(gyre_counters, datagrams_dropped, 608, 8);
AT(gyre_counters, datagram_receives, 616, 8);
AT(gyre_counters, datagram_sends, 624, 8);
AT(gyre_counters, allocations, 632, 8);
AT(gyre_counters, log_lines, 640, 8);
AT(gyre_counters, log_lost, 648, 8);

FROZEN(gyre_datagram_event, 160);
AT(gyre_datagram_event, step, 0, 4);
AT(gyre_datagram_event, reason, 4, 4);
AT(gyre_datagram_event, address, 8, 136);
AT(gyre_datagram_event, channel, 144, 16);

GROWS(gyre_datagram_options, 248);
AT(gyre_datagram_options, bind, 0, 8);
AT(gyre_datagram_options, connect, 8, 8);
AT(gyre_datagram_options, init_channel, 16, 8);
AT(gyre_datagram_options, init_arg, 24, 8);
AT(gyre_datagram_options, actor_class, 32, 8);
AT(gyre_datagram_options, bond, 40, 4);
AT(gyre_datagram_options, channel, 48, 80);
AT(gyre_datagram_options, one_loop, 128, 1);
AT(gyre_datagram_options, reuse_port, 129, 1);
AT(gyre_datagram_options, broadcast, 130, 1);
AT(gyre_datagram_options, no_gro, 131, 1);
AT(gyre_datagram_options, no_gso, 132, 1);
AT(gyre_datagram_options, receive_buffer_bytes, 136, 4);
AT(gyre_datagram_options, send_buffer_bytes, 140, 4);
AT(gyre_datagram_options, groups, 144, 8);
AT(gyre_datagram_options, groups_count, 152, 4);
AT(gyre_datagram_options, multicast_interface, 160, 8);
AT(gyre_datagram_options, multicast_hops, 168, 4);
AT(gyre_datagram_options, no_multicast_loop, 172, 1);
AT(gyre_datagram_options, place, 176, 40);
AT(gyre_datagram_options, report, 216, 8);
AT(gyre_datagram_options, report_arg, 224, 8);
AT(gyre_datagram_options, ret_port, 232, 8);
AT(gyre_datagram_options, ret_address, 240, 8);

FROZEN(gyre_dead_letter, 88);
AT(gyre_dead_letter, from, 0, 16);
AT(gyre_dead_letter, to, 16, 16);
AT(gyre_dead_letter, type_id, 32, 4);
AT(gyre_dead_letter, reason, 36, 4);
AT(gyre_dead_letter, type_name, 40, 48);

FROZEN(gyre_decoded_frame, 56);
AT(gyre_decoded_frame, scanned, 0, 8);
AT(gyre_decoded_frame, needed, 8, 8);
AT(gyre_decoded_frame, front, 16, 8);
AT(gyre_decoded_frame, back, 24, 8);
AT(gyre_decoded_frame, skip, 32, 1);
AT(gyre_decoded_frame, reserved, 40, 16);

FROZEN(gyre_decoder, 24);
AT(gyre_decoder, at, 0, 8);
AT(gyre_decoder, left, 8, 8);
AT(gyre_decoder, error, 16, 4);

GROWS(gyre_delimiter_options, 40);
AT(gyre_delimiter_options, delimiters, 0, 8);
AT(gyre_delimiter_options, delimiters_count, 8, 8);
AT(gyre_delimiter_options, frame_bytes_max, 16, 8);
AT(gyre_delimiter_options, append, 24, 1);
AT(gyre_delimiter_options, keep_delimiter, 25, 1);
AT(gyre_delimiter_options, fail_late, 26, 1);
AT(gyre_delimiter_options, unused, 27, 5);
AT(gyre_delimiter_options, unterminated, 32, 4);

FROZEN(gyre_descriptor_ready, 12);
AT(gyre_descriptor_ready, fd, 0, 4);
AT(gyre_descriptor_ready, events, 4, 4);
AT(gyre_descriptor_ready, error, 8, 4);

FROZEN(gyre_encoder, 40);
AT(gyre_encoder, bytes, 0, 8);
AT(gyre_encoder, count, 8, 8);
AT(gyre_encoder, room, 16, 8);
AT(gyre_encoder, max, 24, 8);
AT(gyre_encoder, error, 32, 4);

GROWS(gyre_encoding, 24);
AT(gyre_encoding, version, 0, 4);
AT(gyre_encoding, encode, 8, 8);
AT(gyre_encoding, decode, 16, 8);

FROZEN(gyre_event_key, 16);
AT(gyre_event_key, bytes, 0, 8);
AT(gyre_event_key, count, 8, 4);

FROZEN(gyre_events_missed, 24);
AT(gyre_events_missed, count, 0, 8);
AT(gyre_events_missed, tag, 8, 8);
AT(gyre_events_missed, type_id, 16, 4);

GROWS(gyre_exchange_load, 16);
AT(gyre_exchange_load, requests, 0, 4);
AT(gyre_exchange_load, requests_pending, 4, 4);
AT(gyre_exchange_load, asks, 8, 4);
AT(gyre_exchange_load, asks_pending, 12, 4);

GROWS(gyre_exchange_options, 104);
AT(gyre_exchange_options, request, 0, 8);
AT(gyre_exchange_options, frame_bytes, 8, 8);
AT(gyre_exchange_options, reply, 16, 8);
AT(gyre_exchange_options, fail, 24, 8);
AT(gyre_exchange_options, request_barrier, 32, 8);
AT(gyre_exchange_options, requests_max, 40, 4);
AT(gyre_exchange_options, requests_pending_max, 44, 4);
AT(gyre_exchange_options, any_order, 48, 1);
AT(gyre_exchange_options, ask, 56, 8);
AT(gyre_exchange_options, ask_barrier, 64, 8);
AT(gyre_exchange_options, asks_max, 72, 4);
AT(gyre_exchange_options, asks_pending_max, 76, 4);
AT(gyre_exchange_options, ask_stall_ns, 80, 8);
AT(gyre_exchange_options, ids, 88, 1);
AT(gyre_exchange_options, id_max, 96, 8);

FROZEN(gyre_failed, 68);
AT(gyre_failed, actor, 0, 16);
AT(gyre_failed, reason, 16, 4);
AT(gyre_failed, class_name, 20, 48);

FROZEN(gyre_failure, 56);
AT(gyre_failure, child, 0, 16);
AT(gyre_failure, class_name, 16, 8);
AT(gyre_failure, path, 24, 8);
AT(gyre_failure, error, 32, 4);
AT(gyre_failure, ends, 36, 1);
AT(gyre_failure, cause_type, 40, 8);
AT(gyre_failure, cause, 48, 8);

FROZEN(gyre_file_data, 16);
AT(gyre_file_data, buffer, 0, 8);
AT(gyre_file_data, count, 8, 8);

FROZEN(gyre_file_done, 16);
AT(gyre_file_done, count, 0, 8);
AT(gyre_file_done, error, 8, 4);

GROWS(gyre_file_found, 32);
AT(gyre_file_found, file, 0, 8);
AT(gyre_file_found, status, 8, 24);

GROWS(gyre_file_keeping, 24);
AT(gyre_file_keeping, files_max, 0, 4);
AT(gyre_file_keeping, valid_ns, 8, 8);
AT(gyre_file_keeping, idle_ns, 16, 8);

FROZEN(gyre_file_opened, 8);
AT(gyre_file_opened, file, 0, 8);

GROWS(gyre_file_options, 8);
AT(gyre_file_options, flags, 0, 4);
AT(gyre_file_options, mode, 4, 4);

GROWS(gyre_file_part, 24);
AT(gyre_file_part, offset, 0, 8);
AT(gyre_file_part, bytes, 8, 8);
AT(gyre_file_part, memory, 16, 8);

GROWS(gyre_file_region, 32);
AT(gyre_file_region, offset, 0, 8);
AT(gyre_file_region, bytes, 8, 8);
AT(gyre_file_region, sent, 16, 8);
AT(gyre_file_region, arg, 24, 8);

FROZEN(gyre_file_status, 24);
AT(gyre_file_status, bytes, 0, 8);
AT(gyre_file_status, mode, 8, 4);
AT(gyre_file_status, modified_ns, 16, 8);

GROWS(gyre_fixed_options, 8);
AT(gyre_fixed_options, frame_bytes, 0, 8);

GROWS(gyre_frame_decoder, 56);
AT(gyre_frame_decoder, name, 0, 8);
AT(gyre_frame_decoder, frame_bytes_max, 8, 8);
AT(gyre_frame_decoder, decode, 16, 8);
AT(gyre_frame_decoder, decode_last, 24, 8);
AT(gyre_frame_decoder, frame, 32, 8);
AT(gyre_frame_decoder, added, 40, 8);
AT(gyre_frame_decoder, removed, 48, 8);

FROZEN(gyre_future, 24);
AT(gyre_future, promise, 0, 8);
AT(gyre_future, id, 8, 8);
AT(gyre_future, error, 16, 4);

GROWS(gyre_group_options, 24);
AT(gyre_group_options, count, 0, 4);
AT(gyre_group_options, routing, 4, 4);
AT(gyre_group_options, key, 8, 8);
AT(gyre_group_options, detached, 16, 1);

GROWS(gyre_handler, 176);
AT(gyre_handler, name, 0, 8);
AT(gyre_handler, added, 8, 8);
AT(gyre_handler, removed, 16, 8);
AT(gyre_handler, registered, 24, 8);
AT(gyre_handler, active, 32, 8);
AT(gyre_handler, read, 40, 8);
AT(gyre_handler, read_complete, 48, 8);
AT(gyre_handler, event, 56, 8);
AT(gyre_handler, writability, 64, 8);
AT(gyre_handler, exception, 72, 8);
AT(gyre_handler, inactive, 80, 8);
AT(gyre_handler, unregistered, 88, 8);
AT(gyre_handler, timer, 96, 8);
AT(gyre_handler, bind, 104, 8);
AT(gyre_handler, connect, 112, 8);
AT(gyre_handler, write, 120, 8);
AT(gyre_handler, flush, 128, 8);
AT(gyre_handler, read_request, 136, 8);
AT(gyre_handler, shutdown, 144, 8);
AT(gyre_handler, close, 152, 8);
AT(gyre_handler, send_file, 160, 8);
AT(gyre_handler, read_end, 168, 8);

FROZEN(gyre_handler_context, 16);
AT(gyre_handler_context, channel, 0, 8);
AT(gyre_handler_context, arg, 8, 8);

FROZEN(gyre_idle, 24);
AT(gyre_idle, kind, 0, 4);
AT(gyre_idle, count, 4, 4);
AT(gyre_idle, bytes, 8, 8);
AT(gyre_idle, duration_ns, 16, 8);

GROWS(gyre_idle_options, 80);
AT(gyre_idle_options, read_ns, 0, 8);
AT(gyre_idle_options, write_ns, 8, 8);
AT(gyre_idle_options, all_ns, 16, 8);
AT(gyre_idle_options, read_bytes_min, 24, 8);
AT(gyre_idle_options, write_bytes_min, 32, 8);
AT(gyre_idle_options, read_rate_min, 40, 8);
AT(gyre_idle_options, write_rate_min, 48, 8);
AT(gyre_idle_options, rate_window_ns, 56, 8);
AT(gyre_idle_options, rate_grace_ns, 64, 8);
AT(gyre_idle_options, close, 72, 1);

FROZEN(gyre_input_closed, 4);
AT(gyre_input_closed, draining, 0, 4);

GROWS(gyre_length_options, 48);
AT(gyre_length_options, frame_bytes_max, 0, 8);
AT(gyre_length_options, length_field_offset, 8, 8);
AT(gyre_length_options, length_field_bytes, 16, 8);
AT(gyre_length_options, length_adjustment, 24, 4);
AT(gyre_length_options, initial_bytes_to_strip, 32, 8);
AT(gyre_length_options, order, 40, 4);
AT(gyre_length_options, fail_late, 44, 1);

GROWS(gyre_line_options, 24);
AT(gyre_line_options, frame_bytes_max, 0, 8);
AT(gyre_line_options, append, 8, 4);
AT(gyre_line_options, keep_end, 12, 1);
AT(gyre_line_options, fail_late, 13, 1);
AT(gyre_line_options, unterminated, 16, 4);

FROZEN(gyre_listen_event, 160);
AT(gyre_listen_event, step, 0, 4);
AT(gyre_listen_event, reason, 4, 4);
AT(gyre_listen_event, address, 8, 136);
AT(gyre_listen_event, channel, 144, 16);

GROWS(gyre_log_line, 32);
AT(gyre_log_line, level, 0, 4);
AT(gyre_log_line, time_ns, 8, 8);
AT(gyre_log_line, date_ns, 16, 8);
AT(gyre_log_line, text, 24, 8);

GROWS(gyre_loop_snapshot, 256);
AT(gyre_loop_snapshot, index, 0, 4);
AT(gyre_loop_snapshot, cpu, 4, 4);
AT(gyre_loop_snapshot, parked, 8, 1);
AT(gyre_loop_snapshot, turns, 16, 8);
AT(gyre_loop_snapshot, parks, 24, 8);
AT(gyre_loop_snapshot, io_ns, 32, 8);
AT(gyre_loop_snapshot, channels_ns, 40, 8);
AT(gyre_loop_snapshot, state_ns, 48, 8);
AT(gyre_loop_snapshot, polled_ns, 56, 8);
AT(gyre_loop_snapshot, parked_ns, 64, 8);
AT(gyre_loop_snapshot, ready_channels, 72, 4);
AT(gyre_loop_snapshot, ready_state, 76, 4);
AT(gyre_loop_snapshot, mounting, 80, 4);
AT(gyre_loop_snapshot, sent, 88, 8);
AT(gyre_loop_snapshot, received, 96, 8);
AT(gyre_loop_snapshot, timers, 104, 8);
AT(gyre_loop_snapshot, actors, 112, 4);
AT(gyre_loop_snapshot, held_bytes, 120, 8);
AT(gyre_loop_snapshot, held_max, 128, 8);
AT(gyre_loop_snapshot, held_over, 136, 1);
AT(gyre_loop_snapshot, mail, 144, 24);
AT(gyre_loop_snapshot, stacks, 168, 24);
AT(gyre_loop_snapshot, parts, 192, 24);
AT(gyre_loop_snapshot, promises, 216, 24);
AT(gyre_loop_snapshot, log_lines, 240, 8);
AT(gyre_loop_snapshot, log_lost, 248, 8);

FROZEN(gyre_mailbox_mark, 8);
AT(gyre_mailbox_mark, waiting, 0, 4);
AT(gyre_mailbox_mark, high, 4, 1);

GROWS(gyre_membership, 32);
AT(gyre_membership, start, 0, 8);
AT(gyre_membership, publish, 8, 8);
AT(gyre_membership, watch, 16, 8);
AT(gyre_membership, stop, 24, 8);

FROZEN(gyre_multicast, 16);
AT(gyre_multicast, group, 0, 8);
AT(gyre_multicast, interface, 8, 8);

FROZEN(gyre_node_event, 16);
AT(gyre_node_event, incarnation, 0, 8);
AT(gyre_node_event, node, 8, 2);
AT(gyre_node_event, state, 10, 2);

FROZEN(gyre_node_found, 16);
AT(gyre_node_found, address, 0, 16);

GROWS(gyre_node_options, 184);
AT(gyre_node_options, id, 0, 2);
AT(gyre_node_options, cluster, 8, 8);
AT(gyre_node_options, listen, 16, 8);
AT(gyre_node_options, listen_wait_ns, 24, 8);
AT(gyre_node_options, peers, 32, 8);
AT(gyre_node_options, membership, 40, 8);
AT(gyre_node_options, membership_arg, 48, 8);
AT(gyre_node_options, types, 56, 8);
AT(gyre_node_options, secret, 64, 8);
AT(gyre_node_options, secret_before, 72, 8);
AT(gyre_node_options, no_encryption, 80, 1);
AT(gyre_node_options, tls, 88, 8);
AT(gyre_node_options, allow_public, 96, 1);
AT(gyre_node_options, link_bytes_max, 100, 4);
AT(gyre_node_options, message_bytes_max, 104, 4);
AT(gyre_node_options, greetings_max, 108, 4);
AT(gyre_node_options, greeting_ns, 112, 8);
AT(gyre_node_options, heartbeat_ns, 120, 8);
AT(gyre_node_options, suspect_ns, 128, 8);
AT(gyre_node_options, down_ns, 136, 8);
AT(gyre_node_options, idle_ns, 144, 8);
AT(gyre_node_options, redial_min_ns, 152, 8);
AT(gyre_node_options, redial_max_ns, 160, 8);
AT(gyre_node_options, away_ns, 168, 8);
AT(gyre_node_options, end_when_declared_down, 176, 1);

FROZEN(gyre_node_peer, 16);
AT(gyre_node_peer, id, 0, 2);
AT(gyre_node_peer, address, 8, 8);

GROWS(gyre_node_status, 40);
AT(gyre_node_status, incarnation, 0, 8);
AT(gyre_node_status, state, 8, 4);
AT(gyre_node_status, links, 12, 4);
AT(gyre_node_status, sent, 16, 8);
AT(gyre_node_status, received, 24, 8);
AT(gyre_node_status, lost, 32, 8);

FROZEN(gyre_offload_pool, 32);
AT(gyre_offload_pool, name, 0, 8);
AT(gyre_offload_pool, threads, 8, 4);
AT(gyre_offload_pool, queue_max, 12, 4);
AT(gyre_offload_pool, reserved, 16, 16);

FROZEN(gyre_offload_pool_snapshot, 80);
AT(gyre_offload_pool_snapshot, name, 0, 32);
AT(gyre_offload_pool_snapshot, threads, 32, 4);
AT(gyre_offload_pool_snapshot, threads_max, 36, 4);
AT(gyre_offload_pool_snapshot, busy, 40, 4);
AT(gyre_offload_pool_snapshot, waiting, 44, 4);
AT(gyre_offload_pool_snapshot, queue_max, 48, 4);
AT(gyre_offload_pool_snapshot, reserved, 52, 4);
AT(gyre_offload_pool_snapshot, done, 56, 8);
AT(gyre_offload_pool_snapshot, reserved_more, 64, 16);

FROZEN(gyre_overload, 1);
AT(gyre_overload, busy, 0, 1);

GROWS(gyre_pipe_options, 112);
AT(gyre_pipe_options, init_channel, 0, 8);
AT(gyre_pipe_options, init_arg, 8, 8);
AT(gyre_pipe_options, channel, 16, 80);
AT(gyre_pipe_options, input_fd, 96, 4);
AT(gyre_pipe_options, output_fd, 100, 4);
AT(gyre_pipe_options, no_input, 104, 1);
AT(gyre_pipe_options, no_output, 105, 1);
AT(gyre_pipe_options, keep, 106, 1);
AT(gyre_pipe_options, loop, 108, 4);

FROZEN(gyre_pool_use, 24);
AT(gyre_pool_use, used, 0, 8);
AT(gyre_pool_use, free, 8, 8);
AT(gyre_pool_use, bytes, 16, 8);

FROZEN(gyre_position, 24);
AT(gyre_position, where, 0, 4);
AT(gyre_position, reserved, 4, 4);
AT(gyre_position, other, 8, 8);
AT(gyre_position, name, 16, 8);

GROWS(gyre_prepender_options, 24);
AT(gyre_prepender_options, length_field_bytes, 0, 8);
AT(gyre_prepender_options, length_adjustment, 8, 4);
AT(gyre_prepender_options, length_includes_field, 12, 1);
AT(gyre_prepender_options, order, 16, 4);

FROZEN(gyre_receive_timeout, 8);
AT(gyre_receive_timeout, idle_ns, 0, 8);

GROWS(gyre_resolve_options, 16);
AT(gyre_resolve_options, name_servers, 0, 8);
AT(gyre_resolve_options, family, 8, 4);

FROZEN(gyre_resolved, 2184);
AT(gyre_resolved, count, 0, 4);
AT(gyre_resolved, addresses, 8, 2176);

FROZEN(gyre_route, 16);
AT(gyre_route, id, 0, 4);
AT(gyre_route, reserved, 4, 4);
AT(gyre_route, handler, 8, 8);

FROZEN(gyre_sent, 8);
AT(gyre_sent, bytes, 0, 8);

FROZEN(gyre_signal, 32);
AT(gyre_signal, signo, 0, 4);
AT(gyre_signal, code, 4, 4);
AT(gyre_signal, pid, 8, 8);
AT(gyre_signal, value, 16, 8);
AT(gyre_signal, count, 24, 4);

FROZEN(gyre_sizes, 16);
AT(gyre_sizes, options, 0, 4);
AT(gyre_sizes, actor_class, 4, 4);
AT(gyre_sizes, node, 8, 4);
AT(gyre_sizes, membership, 12, 4);

GROWS(gyre_snapshot, 72);
AT(gyre_snapshot, time_ns, 0, 8);
AT(gyre_snapshot, stalls, 8, 8);
AT(gyre_snapshot, loops_count, 16, 4);
AT(gyre_snapshot, classes_count, 20, 4);
AT(gyre_snapshot, loop_bytes, 24, 4);
AT(gyre_snapshot, class_bytes, 28, 4);
AT(gyre_snapshot, loops, 32, 8);
AT(gyre_snapshot, classes, 40, 8);
AT(gyre_snapshot, tree, 48, 8);
AT(gyre_snapshot, offload_pools, 56, 8);
AT(gyre_snapshot, offload_pools_count, 64, 4);

FROZEN(gyre_socket_address, 136);
AT(gyre_socket_address, bytes, 0, 4);
AT(gyre_socket_address, type, 4, 4);
AT(gyre_socket_address, storage, 8, 128);

FROZEN(gyre_span, 16);
AT(gyre_span, bytes, 0, 8);
AT(gyre_span, count, 8, 8);

FROZEN(gyre_spawn_options, 40);
AT(gyre_spawn_options, place, 0, 4);
AT(gyre_spawn_options, loop, 4, 4);
AT(gyre_spawn_options, detached, 8, 1);
AT(gyre_spawn_options, name, 16, 8);
AT(gyre_spawn_options, reserved, 24, 16);

FROZEN(gyre_stack, 40);
AT(gyre_stack, message, 0, 8);
AT(gyre_stack, type, 8, 8);
AT(gyre_stack, actor, 16, 8);
AT(gyre_stack, frame, 24, 8);
AT(gyre_stack, state, 32, 4);

FROZEN(gyre_stalled, 112);
AT(gyre_stalled, lasted_ns, 0, 8);
AT(gyre_stalled, loop, 8, 4);
AT(gyre_stalled, class_name, 12, 48);
AT(gyre_stalled, message, 60, 48);

FROZEN(gyre_stopping, 16);
AT(gyre_stopping, phase, 0, 4);
AT(gyre_stopping, deadline_ns, 8, 8);

GROWS(gyre_subscribe_options, 16);
AT(gyre_subscribe_options, waiting_max, 0, 4);
AT(gyre_subscribe_options, reserved, 4, 4);
AT(gyre_subscribe_options, tag, 8, 8);

FROZEN(gyre_supervision, 56);
AT(gyre_supervision, scope, 0, 4);
AT(gyre_supervision, decision, 4, 4);
AT(gyre_supervision, decide, 8, 8);
AT(gyre_supervision, restarts_max, 16, 4);
AT(gyre_supervision, window_ns, 24, 8);
AT(gyre_supervision, delay_ns, 32, 8);
AT(gyre_supervision, reserved, 40, 16);

GROWS(gyre_system_options, 320);
AT(gyre_system_options, loops, 0, 4);
AT(gyre_system_options, loops_max, 4, 4);
AT(gyre_system_options, cpus, 8, 8);
AT(gyre_system_options, ring_entries, 16, 4);
AT(gyre_system_options, buffer_count, 20, 4);
AT(gyre_system_options, buffer_bytes, 24, 4);
AT(gyre_system_options, receive_buffers, 28, 4);
AT(gyre_system_options, datagram_buffer_count, 32, 4);
AT(gyre_system_options, datagram_buffer_bytes, 36, 4);
AT(gyre_system_options, io_ratio, 40, 4);
AT(gyre_system_options, min_budget_ns, 48, 8);
AT(gyre_system_options, run_budget, 56, 4);
AT(gyre_system_options, starvation_limit, 60, 4);
AT(gyre_system_options, steal_floor, 64, 4);
AT(gyre_system_options, steal_aggression, 68, 4);
AT(gyre_system_options, timer_tick_ns, 72, 8);
AT(gyre_system_options, high_replies, 80, 4);
AT(gyre_system_options, high_events, 84, 4);
AT(gyre_system_options, ask_timeout_ns, 88, 8);
AT(gyre_system_options, spin_ns, 96, 8);
AT(gyre_system_options, stall_ns, 104, 8);
AT(gyre_system_options, offload_threads, 112, 4);
AT(gyre_system_options, offload_queue_max, 116, 4);
AT(gyre_system_options, memory_limit_bytes, 120, 8);
AT(gyre_system_options, write_low_bytes, 128, 4);
AT(gyre_system_options, write_high_bytes, 132, 4);
AT(gyre_system_options, write_max_bytes, 136, 4);
AT(gyre_system_options, channel_bytes_max, 144, 8);
AT(gyre_system_options, zero_copy_bytes, 152, 8);
AT(gyre_system_options, linger_ns, 160, 8);
AT(gyre_system_options, drain_timeout_ns, 168, 8);
AT(gyre_system_options, handover, 176, 8);
AT(gyre_system_options, notify_supervisor, 184, 1);
AT(gyre_system_options, log, 192, 8);
AT(gyre_system_options, log_level, 200, 4);
AT(gyre_system_options, log_arg, 208, 8);
AT(gyre_system_options, dead_letter, 216, 8);
AT(gyre_system_options, dead_letter_arg, 224, 8);
AT(gyre_system_options, started, 232, 8);
AT(gyre_system_options, started_arg, 240, 8);
AT(gyre_system_options, loop_init, 248, 8);
AT(gyre_system_options, loop_fini, 256, 8);
AT(gyre_system_options, loop_arg, 264, 8);
AT(gyre_system_options, user, 272, 8);
AT(gyre_system_options, node, 280, 8);
AT(gyre_system_options, log_buffer_bytes, 288, 8);
AT(gyre_system_options, log_lines_max, 296, 4);
AT(gyre_system_options, embedded, 300, 1);
AT(gyre_system_options, offload_pools, 304, 8);
AT(gyre_system_options, offload_pools_count, 312, 4);
AT(gyre_system_options, loops_pinned, 316, 4);

FROZEN(gyre_tail, 16);
AT(gyre_tail, bytes, 0, 4);
AT(gyre_tail, at, 4, 4);
AT(gyre_tail, unit, 8, 4);
AT(gyre_tail, count_at, 12, 4);

FROZEN(gyre_terminated, 20);
AT(gyre_terminated, actor, 0, 16);
AT(gyre_terminated, reason, 16, 4);

FROZEN(gyre_timeout, 16);
AT(gyre_timeout, key, 0, 8);
AT(gyre_timeout, expirations, 8, 8);

GROWS(gyre_timer_options, 24);
AT(gyre_timer_options, delay_ns, 0, 8);
AT(gyre_timer_options, date_ns, 8, 8);
AT(gyre_timer_options, period_ns, 16, 8);

GROWS(gyre_tls_context_options, 40);
AT(gyre_tls_context_options, certificate, 0, 8);
AT(gyre_tls_context_options, key, 8, 8);
AT(gyre_tls_context_options, ca, 16, 8);
AT(gyre_tls_context_options, alpn, 24, 8);
AT(gyre_tls_context_options, version_min, 32, 4);
AT(gyre_tls_context_options, record_bytes, 36, 4);

GROWS(gyre_tls_options, 32);
AT(gyre_tls_options, context, 0, 8);
AT(gyre_tls_options, server_name, 8, 8);
AT(gyre_tls_options, mutual, 16, 1);
AT(gyre_tls_options, any_name, 17, 1);
AT(gyre_tls_options, no_verify, 18, 1);
AT(gyre_tls_options, handshake_ns, 24, 8);

GROWS(gyre_tls_session, 40);
AT(gyre_tls_session, version, 0, 4);
AT(gyre_tls_session, resumed, 4, 1);
AT(gyre_tls_session, cipher, 8, 8);
AT(gyre_tls_session, alpn, 16, 8);
AT(gyre_tls_session, server_name, 24, 8);
AT(gyre_tls_session, peer_subject, 32, 8);

GROWS(gyre_type, 64);
AT(gyre_type, name, 0, 8);
AT(gyre_type, id, 8, 4);
AT(gyre_type, bytes, 12, 4);
AT(gyre_type, destroy, 16, 8);
AT(gyre_type, answer, 24, 8);
AT(gyre_type, type_bytes, 32, 4);
AT(gyre_type, encoding_bytes, 36, 4);
AT(gyre_type, encoding, 40, 8);
AT(gyre_type, tail, 48, 16);

GROWS(gyre_varint_options, 16);
AT(gyre_varint_options, frame_bytes_max, 0, 8);
AT(gyre_varint_options, fail_late, 8, 1);
